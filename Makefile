# SPDX-License-Identifier: GPL-3.0-or-later
# A thin door to Meson: installs what is missing, configures, builds, does the job.
#
#   make run [DIR=/mnt/data] [ARGS="--quick"]   measure a directory, this one by default
#   make test                                   all tests; ends with "N passed, N failed, N skipped"
#   make, make install PREFIX=..., make bench, make fuzz, make clean

DIR    ?= .
ARGS   ?=
PREFIX ?= /usr/local
BUILD  ?= build
FUZZ_S ?= 60

.PHONY: all build run test install bench fuzz clean help
.NOTPARALLEL:

all: build

build:
	@tools/deps build
	@tools/build $(BUILD)

run: build
	@$(BUILD)/src/cli/clyde run $(ARGS) "$(DIR)"

test:
	@tools/deps test
	@tools/build $(BUILD)
	@tools/run-tests $(BUILD)

install: build
	@meson configure $(BUILD) --prefix "$$(realpath -m '$(PREFIX)')" && meson install -C $(BUILD)

bench:
	@tools/deps bench
	@tools/build $(BUILD)
	@ninja -C $(BUILD) -v bench/pattern >/dev/null && $(BUILD)/bench/pattern
	@bench/against-fio --clyde $(BUILD)/src/cli/clyde "$(DIR)"

fuzz:
	@tools/deps ci
	@tools/fuzz build-fuzz $(FUZZ_S)

clean:
	rm -rf $(BUILD) build-*

help:
	@sed -n 's/^#   //p' Makefile
