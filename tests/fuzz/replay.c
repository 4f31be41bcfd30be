/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs every file of the folders that are named through the fuzz target it is linked with. Each
 * input gets memory of exactly its size, so that a sanitizer sees a read behind the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "fuzz.h"

static int read_all(int fd, uint8_t *bytes, size_t n_bytes)
{
	size_t n_done = 0;

	while (n_done < n_bytes) {
		ssize_t n = read(fd, bytes + n_done, n_bytes - n_done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		n_done += (size_t)n;
	}
	return 0;
}

/* Return: 0; 1 if it is no plain file; -1 with errno */
static int replay_file(int dir_fd, const char *name)
{
	int fd cleanup(close_p) = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode))
		return 1;

	uint8_t *bytes cleanup(free_p) = malloc(st.st_size ? (size_t)st.st_size : 1);

	if (!bytes || read_all(fd, bytes, (size_t)st.st_size) < 0)
		return -1;
	LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
	return 0;
}

/* Return: number of files, or -1 after a message */
static int replay_folder(const char *path)
{
	DIR *dir cleanup(closedir_p) = opendir(path);
	const struct dirent *entry;
	int n_files = 0;

	if (!dir) {
		fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
		return -1;
	}
	while ((entry = readdir(dir))) {
		int rc = replay_file(dirfd(dir), entry->d_name);

		if (rc < 0) {
			fprintf(stderr, "cannot read '%s/%s'\n", path, entry->d_name);
			return -1;
		}
		n_files += rc == 0;
	}
	return n_files;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int n_files = replay_folder(argv[i]);

		if (n_files < 0)
			return 1;
		/* An empty folder would be a test that cannot fail. */
		if (n_files == 0) {
			fprintf(stderr, "'%s' has no files\n", argv[i]);
			return 1;
		}
		printf("%d inputs of %s\n", n_files, argv[i]);
	}
	return argc > 1 ? 0 : 1;
}
