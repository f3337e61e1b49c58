# SPDX-License-Identifier: Apache-2.0
#
# make help lists the targets.  Everything built goes to build/, everything
# built with SAN=address (undefined, thread, address,undefined) to a directory
# of its own below it.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

PREFIX ?= /usr/local
DESTDIR ?=
SAN ?=
V ?=
TEST_TIMEOUT ?= 900

VERSION := 0.1.0

bindir := $(PREFIX)/bin
sbindir := $(PREFIX)/sbin
libdir ?= $(PREFIX)/lib
includedir := $(PREFIX)/include
unitdir := $(PREFIX)/lib/systemd
datadir := $(PREFIX)/share
mandir := $(datadir)/man
docdir := $(datadir)/doc/kinfs
bash_dir := $(datadir)/bash-completion/completions
fish_dir := $(datadir)/fish/vendor_completions.d
menu_dir := $(datadir)/kio/servicemenus
# Debian's zsh looks in $(datadir)/zsh/vendor-completions.
zsh_dir ?= $(datadir)/zsh/site-functions

# ---- what is built, and where ----

comma := ,
BUILD ?= build
LIBFUSE ?=
out := $(BUILD)$(if $(SAN),/$(subst $(comma),-,$(SAN)))
obj := $(out)/obj

extract_client_sources := $(addprefix core/extract/,client.c names.c sketch.c sniff.c starter.c)
core_sources := $(filter-out core/cli/% core/lib/% core/share/% core/extract/%,\
	$(wildcard core/*/*.c core/*/*/*.c)) $(extract_client_sources)
lib_sources := core/lib/kin.c
cli_sources := $(wildcard core/cli/*.c core/cli/*/*.c)
share_sources := $(wildcard core/share/*.c core/share/*/*.c)
extract_sources := $(filter-out $(extract_client_sources),\
	$(wildcard core/extract/*.c core/extract/picture/*.c))
fs_sources := $(wildcard fs/*.c fs/*/*.c)
unit_sources := $(wildcard $(addprefix tests/unit/,*.c */*.c */*/*.c))
bench_sources := $(wildcard tests/bench/*.c)
eval_sources := $(wildcard tests/eval/*.c tests/eval/*/*.c)
conform_sources := $(wildcard tests/conform/*.c)
stress_sources := $(wildcard tests/stress/*.c)
fuzz_sources := $(filter-out tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c))
e2e_tests := $(wildcard tests/e2e/*/*.t)
conform_tests := $(wildcard tests/conform/*.t)
stress_tests := $(wildcard tests/stress/*.t)
eval_tests := $(wildcard tests/eval/*.t)
# When a daemon is killed or a disk is full is up to chance, and a crowd takes
# long: these are for make stress alone.
steady_tests := $(filter-out $(addprefix tests/stress/,kill.t crowd.t shuffle.t),\
	$(stress_tests))

objects = $(patsubst %.c,$(obj)/%.o,$(1))
core_objects := $(call objects,$(core_sources))
lib_objects := $(call objects,$(lib_sources))
cli_objects := $(call objects,$(cli_sources))
share_objects := $(call objects,$(share_sources))
extract_objects := $(call objects,$(extract_sources))
fs_objects := $(call objects,$(fs_sources))
unit_objects := $(call objects,$(unit_sources) tests/support/test.c \
	tests/support/unconfined.c)
bench_objects := $(call objects,$(bench_sources))
eval_objects := $(call objects,$(eval_sources))
conform_objects := $(call objects,$(conform_sources))
stress_objects := $(call objects,$(stress_sources))
fuzz_objects := $(call objects,$(fuzz_sources) tests/fuzz/replay.c)
all_objects := $(core_objects) $(lib_objects) $(cli_objects) $(share_objects) \
	$(extract_objects) $(fs_objects) $(unit_objects) \
	$(bench_objects) $(eval_objects) $(conform_objects) $(stress_objects) $(fuzz_objects)

# These need libfuse and all of the daemon.
fs_tests := tests/unit/fs/protocol tests/unit/fs/requests

# The fuzzers' harnesses replay their corpus as tests.
test_sources := $(unit_sources) $(fuzz_sources)
unit_programs = $(patsubst %.c,$(out)/%,$(test_sources))
# Those that run threads of their own, for SAN=thread.
thread_sources := $(filter $(addprefix tests/unit/,catalog/cut.c catalog/life.c \
	catalog/room.c commit/% engine/% index/threads.c queue/% scan_% \
	search/% watch/events.c),$(unit_sources))
thread_programs = $(patsubst %.c,$(out)/%,$(thread_sources))

# ---- how ----

ifeq ($(origin CC),default)
CC := gcc
endif
AR := ar
CFLAGS ?= -O2 -g
# -Werror where the compiler is known: a newer one must not stop a user's build.
WERROR ?=

warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wconversion -Wno-sign-conversion $(WERROR)

ifeq ($(SAN),)
hardening := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
else
hardening := -fsanitize=$(SAN) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
endif

# pkg-config is asked once, and only by rules that need the answer: the first
# thing "make check" does on a bare machine is to install it.
once = $(eval $(1) := $(2))$($(1))
flags_of = $(patsubst -I%,-isystem %,$(shell $(2) pkg-config --cflags $(1)))
libs_of = $(shell $(2) pkg-config $(2:%=--static) --libs $(1))
core_packages := lmdb libxxhash libcrypto jansson zlib libzstd
core_cflags = $(call once,core_cflags,$(call flags_of,$(core_packages)))
core_libs = $(call once,core_libs,$(call libs_of,$(core_packages)) -lm)
share_cflags = $(call once,share_cflags,$(call flags_of,libpq))
share_libs = $(call once,share_libs,$(call libs_of,libpq))
extract_packages := libarchive expat icu-i18n icu-uc libseccomp gmime-3.0 libxml-2.0
extract_cflags = $(call once,extract_cflags,$(call flags_of,\
	$(extract_packages)))
extract_libs = $(call once,extract_libs,$(call libs_of,$(extract_packages)))
picture_packages := libjpeg libpng libwebp libwebpdemux libseccomp
picture_cflags = $(call once,picture_cflags,$(call flags_of,$(picture_packages)))
# giflib tells pkg-config nothing.
picture_libs = $(call once,picture_libs,$(call libs_of,$(picture_packages)) -lgif -lm)
pdf_packages := poppler-glib libseccomp
pdf_cflags = $(call once,pdf_cflags,$(call flags_of,$(pdf_packages)))
pdf_libs = $(call once,pdf_libs,$(call libs_of,$(pdf_packages)))
fuse_cflags = $(call once,fuse_cflags,$(call flags_of,fuse3 libseccomp,\
	$(fuse_of)))
fuse_libs = $(call once,fuse_libs,$(call libs_of,fuse3 libseccomp,$(fuse_of)))
# LIBFUSE=DIR: the one that scripts/libfuse built there.
fuse_of = $(LIBFUSE:%=PKG_CONFIG_PATH=%/lib/pkgconfig)

language := -std=c11 -D_GNU_SOURCE -DKINFS_VERSION='"$(VERSION)"' -I.
# Objects serve programs and the shared library alike.
compile = $(CC) $(language) $(warnings) $(CFLAGS) $(hardening) -fPIC \
	$(visibility) -pthread \
	$(before_banned) -include core/base/banned.h $(CPPFLAGS)
link = $(CC) $(CFLAGS) $(hardening) -pie -pthread -Wl,-z,relro,-z,now \
	-Wl,--as-needed $(LDFLAGS)

# What is summed up of a picture is rounded after each operation, and its loops
# are vectors.
$(call objects,core/digest/pdq.c): extra_cflags = -O3 -ffp-contract=off

# Kernels know no threads, and what -fsanitize=thread makes of their vectors
# and masks is wrong (gcc 12).
ifeq ($(SAN),thread)
$(call objects,$(wildcard core/kernel/*.c core/kernel/*/*.c)): hardening :=
endif

# What the kernel keeps in order is shown to it.
ifeq ($(SAN),thread)
order_objects := $(call objects,tests/thread/kernel_order.c)
order_flags = $$(nm -u $(order_objects) | sed -n 's/.* __real_/-Wl,--wrap=/p')
endif

$(fs_objects) $(order_objects) $(fs_tests:%=$(obj)/%.o): \
	extra_cflags = -DFUSE_USE_VERSION=314 \
	$(fuse_cflags)

$(share_objects) $(obj)/tests/bench/share.o $(obj)/tests/fuzz/share_ask.o \
$(obj)/tests/unit/share_confine.o: \
	extra_cflags = $(share_cflags)

$(extract_objects): extra_cflags = $(extract_cflags)
$(call objects,$(wildcard core/extract/picture/*.c) tests/fuzz/extract_picture.c): \
	extra_cflags = $(picture_cflags)
# Some of its macros call strncpy().
$(call objects,core/extract/picture/jpeg.c): before_banned := \
	-include stdio.h -include jpeglib.h -include jerror.h
poppler_objects := $(call objects,core/extract/pdf.c tests/fuzz/extract_pdf.c)
$(poppler_objects): extra_cflags = $(pdf_cflags)
# One of its structs has a field that is called ctime.
$(poppler_objects): before_banned := -include poppler.h

# What core/lib/kin.map does not name is not seen, which makes position-independent
# code as fast as any other.
$(core_objects): visibility := -fvisibility=hidden

# ---- output: short lines, or the commands with V=1 ----

ifeq ($(V),)
quiet = @printf '  %-7s %s\n' $(1) $@;
else
quiet =
endif

# ---- building ----

.PHONY: all
all: $(out)/kin $(out)/kinfs $(out)/kin-share $(out)/kin-extract \
	$(out)/kin-extract-pdf $(out)/kin-extract-picture $(out)/libkin.so.1

$(out)/libkin.a: $(core_objects)
	$(call quiet,AR)rm -f $@ && $(AR) rcs $@ $(core_objects)

# The shared library for other programs has of libkin.a what it needs.  1 is
# raised when a program that was built with an older one would break.
$(out)/libkin.so.1: $(lib_objects) $(out)/libkin.a core/lib/kin.map
	$(call quiet,LINK)$(subst -pie,-shared,$(link)) -o $@ \
		$(lib_objects) $(out)/libkin.a \
		-Wl,-soname,libkin.so.1 -Wl,--version-script,core/lib/kin.map \
		$(if $(SAN),,-Wl$(comma)-z$(comma)defs) $(core_libs) $(LDLIBS)

$(out)/kin: $(cli_objects) $(out)/libkin.a
	$(call quiet,LINK)$(link) -o $@ $(cli_objects) $(out)/libkin.a \
		$(core_libs) $(LDLIBS)

$(out)/kin-share: $(share_objects) $(out)/libkin.a
	$(call quiet,LINK)$(link) -o $@ $(share_objects) $(out)/libkin.a \
		$(core_libs) $(share_libs) $(LDLIBS)

# A sanitizer cannot be confined.
confine_object := $(obj)/$(if $(SAN),tests/support/unconfined.o,core/extract/confine.o)
# What all processes that read files have, and what some of them have.
extract_common := $(addprefix $(obj)/core/extract/,dates.o output.o serve.o) \
	$(confine_object)
pdf_objects := $(addprefix $(obj)/core/extract/,pdf.o poppler_data.o)
picture_objects := $(filter $(obj)/core/extract/picture/%,$(extract_objects))
not_documents := $(pdf_objects) $(picture_objects)
$(out)/kin-extract: $(filter-out $(not_documents) %/confine.o,$(extract_objects)) \
		$(confine_object) $(out)/libkin.a
	$(call quiet,LINK)$(link) -o $@ $(filter %.o,$^) $(out)/libkin.a \
		$(core_libs) $(extract_libs) $(LDLIBS)

# Under the GPL, as poppler is: no other program is linked with it.
$(out)/kin-extract-picture: $(picture_objects) $(extract_common) $(out)/libkin.a
	$(call quiet,LINK)$(link) -o $@ $(filter %.o,$^) $(out)/libkin.a \
		$(picture_libs) $(LDLIBS)

$(out)/kin-extract-pdf: $(pdf_objects) $(obj)/core/extract/glib_quiet.o \
		$(extract_common) $(out)/libkin.a
	$(call quiet,LINK)$(link) -o $@ $(filter %.o,$^) $(out)/libkin.a \
		$(pdf_libs) $(LDLIBS)

$(out)/kinfs: $(fs_objects) $(order_objects) $(out)/libkin.a
	$(call quiet,LINK)$(link) -o $@ $(order_flags) $(fs_objects) \
		$(order_objects) $(out)/libkin.a $(core_libs) $(fuse_libs) \
		$(LDLIBS)

$(out)/tests/unit/share_confine: $(filter %/confine.o,$(share_objects))
$(out)/tests/unit/share_confine: extra_libs = $(share_libs)
# Its own functions take the place of db.c.
share_fuzz_objects := $(filter %/ask.o %/groups.o %/db_text.o %/schema.o,$(share_objects))
$(out)/tests/fuzz/share_ask $(out)/fuzzers/share_ask: $(share_fuzz_objects)
$(out)/tests/fuzz/share_ask $(out)/fuzzers/share_ask: extra_libs = $(share_libs)
$(out)/tests/unit/extract/confine: $(filter %/confine.o,$(extract_objects))
$(out)/tests/unit/extract/confine: extra_libs = $(pdf_libs)
# The readers without the process around them.
extract_fuzzers := $(foreach name,extract extract_parts,\
	$(out)/tests/fuzz/$(name) $(out)/fuzzers/$(name))
$(extract_fuzzers): $(filter-out $(not_documents) %/main.o %/serve.o %/confine.o,\
	$(extract_objects))
$(extract_fuzzers): extra_libs = $(extract_libs)
pdf_fuzzers := $(out)/tests/fuzz/extract_pdf $(out)/fuzzers/extract_pdf
$(pdf_fuzzers): $(extract_common) $(obj)/core/extract/glib_quiet.o
$(pdf_fuzzers): extra_libs = $(pdf_libs)
picture_fuzzers := $(out)/tests/fuzz/extract_picture $(out)/fuzzers/extract_picture
$(picture_fuzzers): $(filter-out %/main.o,$(picture_objects)) $(extract_common)
$(picture_fuzzers): extra_libs = $(picture_libs)
$(out)/tests/unit/lib_kin: $(lib_objects)
$(out)/tests/unit/fs/query_text $(out)/tests/fuzz/query_text \
$(out)/fuzzers/query_text: $(obj)/fs/similar/query_text.o


$(fs_tests:%=$(out)/%): $(filter-out %/main.o,$(fs_objects))
$(fs_tests:%=$(out)/%): extra_libs = $(fuse_libs)

$(out)/tests/unit/%: $(obj)/tests/unit/%.o $(obj)/tests/support/test.o \
		$(out)/libkin.a
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -o $@ $(filter %.o,$^) $(out)/libkin.a \
		$(core_libs) $(extra_libs) -lcmocka $(LDLIBS)

# Some stand alone, scale* is one program, the rest another.
bench_single := cputime overwrite
scale_objects := $(filter $(obj)/tests/bench/scale%,$(bench_objects)) \
	$(obj)/tests/bench/common.o $(obj)/tests/bench/inputs.o
$(out)/tests/bench/digests: \
	$(filter-out $(bench_single:%=$(obj)/tests/bench/%.o) \
		$(obj)/tests/bench/scale% $(obj)/tests/bench/share.o,\
		$(bench_objects)) $(out)/libkin.a
$(out)/tests/bench/scale: $(scale_objects) $(out)/libkin.a
$(out)/tests/bench/share: $(obj)/tests/bench/share.o \
		$(addprefix $(obj)/core/share/,ask.o batch.o db.o db_text.o \
			groups.o schema.o state.o) \
		$(out)/libkin.a
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -o $@ $^ $(core_libs) $(share_libs) $(LDLIBS)

$(out)/tests/bench/digests $(out)/tests/bench/scale:
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -o $@ $^ $(core_libs) $(LDLIBS)

$(out)/tests/eval/likeness: $(filter-out %/text.o,$(eval_objects))
$(out)/tests/eval/text: $(filter %/text.o %/common.o %/truth.o,$(eval_objects))
$(out)/tests/eval/likeness $(out)/tests/eval/text: $(out)/libkin.a
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -o $@ $(filter %.o,$^) $(out)/libkin.a \
		$(core_libs) $(LDLIBS)

$(out)/tests/conform/conform: $(conform_objects)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -o $@ $^ $(LDLIBS)

$(out)/tests/stress/stress: $(stress_objects)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -o $@ $^ $(core_libs) $(LDLIBS)

$(bench_single:%=$(out)/tests/bench/%): \
	$(out)/tests/bench/%: $(obj)/tests/bench/%.o
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -o $@ $< $(LDLIBS)

$(out)/tests/fuzz/%: $(obj)/tests/fuzz/%.o $(obj)/tests/fuzz/replay.o \
		$(out)/libkin.a
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -o $@ $(filter %.o,$^) $(out)/libkin.a \
		$(core_libs) $(extra_libs) -lcmocka $(LDLIBS)

# The same harness with the fuzzer itself, of clang.
$(out)/fuzzers/%: $(obj)/tests/fuzz/%.o $(out)/libkin.a
	@mkdir -p $(@D)
	$(call quiet,LINK)$(link) -fsanitize=fuzzer -o $@ $(filter %.o,$^) \
		$(out)/libkin.a $(core_libs) $(extra_libs) -lcmocka $(LDLIBS)

# The page of kin report: its files are read into the program.
D3 ?= /usr/share/nodejs
report_page := $(wildcard core/act/report/*.js core/act/report/*.css \
	core/act/report/*.html core/act/report/*.licence)
$(obj)/core/index/licences.o: core/index/licences.bin
$(obj)/core/act/report/page.o: $(report_page)
$(obj)/core/act/report/page.o: extra_cflags = -DREPORT_D3='"$(D3)"'

$(obj)/%.o: %.c $(out)/flags | $(BUILD)/deps
	@mkdir -p $(@D)
	$(call quiet,CC)$(compile) $(core_cflags) $(extra_cflags) -MMD -MP \
		-c -o $@ $<

# Kept, so that a change compiles what it must and no more.
.SECONDARY: $(unit_objects) $(fuzz_objects)

-include $(all_objects:.o=.d) $(order_objects:.o=.d)

# Objects of another compiler, other flags or another set of sources are not
# mixed: this file changes when they do.
flags_now = $(compile) $(LDFLAGS) $(LDLIBS) $(core_sources) $(lib_sources) $(cli_sources) \
	$(share_sources) $(extract_sources) $(fs_sources) $(bench_sources) $(eval_sources) $(conform_sources) \
	$(stress_sources) \
	$(LIBFUSE)
$(out)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call quoted,$(flags_now)) | cmp -s - $@ || \
		printf '%s\n' $(call quoted,$(flags_now)) >$@
quoted = '$(subst ','\'',$(1))'
$(out)/libkin.a $(out)/libkin.so.1 $(out)/kin $(out)/kinfs $(out)/kin-share \
$(out)/kin-extract $(out)/kin-extract-pdf $(out)/kin-extract-picture: $(out)/flags

# Missing packages are named before the compiler stumbles over them.
$(BUILD)/deps: scripts/deps
	@scripts/deps --dry-run build
	@mkdir -p $(@D) && touch $@

.PHONY: FORCE
FORCE:

# ---- testing ----

jobs := $(shell nproc 2>/dev/null || echo 2)
# A make without -j is given one; with -j the jobserver is passed on.
parallel = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(jobs))
# The sanitizers of check-long.
sanitized := address-undefined
sanitized_sources = $(filter-out $(bulk_units:%=%.c),$(test_sources))
prove_jobs = $(jobs)
prove = TEST_TIMEOUT=$(TEST_TIMEOUT) PATH="$(abspath $(out)):$$PATH" \
	KIN=$(abspath $(out))/kin KINFS=$(abspath $(out))/kinfs \
	CONFORM=$(abspath $(out))/tests/conform/conform \
	STRESS=$(abspath $(out))/tests/stress/stress \
	LIKENESS=$(abspath $(out))/tests/eval/likeness \
	prove -j$(prove_jobs) --exec scripts/run-test

# Each takes longer than five seconds; they are for check-long.  A sanitizer says
# nothing new of the bulk: these run without one, the others with it alone.
bulk_units := $(addprefix tests/unit/,digest/big digest/sdhash/input \
	digest/worst_time index/frequency)
long_units := $(bulk_units) $(addprefix tests/unit/,catalog/damage dedup/kill \
	digest/sdhash/sdhash engine/unsteady)
long_e2e := $(addprefix tests/e2e/,extract/bombs.t packaging/packages.t readme/bench.t \
	$(addprefix share/,cut.t faults.t servers.t))
# One of each kind, those that take longest first.
quick_e2e := $(addprefix tests/e2e/,mount/passthrough.t views/similar.t \
	mount/remount.t attributes/validity.t attributes/digests.t cli/digest.t \
	cli/groups.t cli/status.t cli/mistakes.t security/credentials.t \
	readme/session.t)
quick_units = $(addprefix $(out)/tests/unit/,catalog/life index/search \
	queue/workers search/turns digest/ssdeep index/judge kernel/sketch \
	watch/events base_text commit/alone dedup/plan extract/confine \
	fs/protocol ignore/set lib_kin queue/order search/answers)
short_units = $(filter-out $(long_units:%=$(out)/%),$(unit_programs))

# check-quick while working; check before a commit; check-long beside it in
# continuous integration: sanitizers, random operations, recall.
.PHONY: check check-quick check-long unit e2e unit-programs thread-programs \
	sanitized-programs
# Its tests wait for mounts and daemons half of the time.
check-quick: prove_jobs := $(shell expr 2 '*' $(jobs))
check-quick:
	@scripts/deps check
	@+$(MAKE) $(parallel) all $(quick_units)
	@$(prove) $(quick_e2e) $(quick_units)

check:
	@scripts/deps check
	@+$(MAKE) $(parallel) all $(short_units) conform-program
	@$(prove) $(short_units) $(filter-out $(long_e2e),$(e2e_tests)) \
		$(conform_tests)

check-long:
	@scripts/deps check
	@+$(MAKE) $(parallel) all $(bulk_units:%=$(out)/%) stress-program \
		bench-programs eval-program
	@+$(MAKE) $(parallel) SAN=address,undefined sanitized-programs
	@+$(MAKE) $(parallel) SAN=thread thread-programs
	@$(prove) $(bulk_units:%=$(out)/%) \
		$(sanitized_sources:%.c=$(BUILD)/$(sanitized)/%) \
		$(patsubst %.c,$(BUILD)/thread/%,$(thread_sources)) \
		$(eval_tests) $(long_e2e) $(steady_tests)
	@+$(MAKE) SAN=address,undefined extract

# The readers of documents as e2e tests start them; SAN= applies.
.PHONY: extract
extract: $(out)/kin-extract $(out)/kin-extract-pdf $(out)/kin-extract-picture
	@$(prove) $(filter-out $(long_e2e),$(filter tests/e2e/extract/%,$(e2e_tests)))

unit-programs: $(unit_programs)
sanitized-programs: $(sanitized_sources:%.c=$(out)/%)
thread-programs: $(thread_programs)

unit: unit-programs
	@$(prove) $(unit_programs)

e2e: all
	@$(prove) $(e2e_tests)

# Every system call on the mount and on a plain directory.
.PHONY: conform conform-program
conform: all conform-program
	@$(prove) $(conform_tests)

conform-program: $(out)/tests/conform/conform

# Random operations, killed daemons, full disks, stress-ng and fio: each for
# about SECONDS.
SECONDS ?= 60
STRESS_SEED ?= $(shell date +%s)

.PHONY: stress stress-program
stress: override TEST_TIMEOUT = $$(($(SECONDS) * 4 + 300))
stress: all stress-program
	@scripts/deps check stress
	@echo 'STRESS_SEED=$(STRESS_SEED)'
	@STRESS_SECONDS=$(SECONDS) STRESS_SEED=$(STRESS_SEED); \
		export STRESS_SECONDS STRESS_SEED; \
		$(prove) -v $(stress_tests)

stress-program: $(out)/tests/stress/stress

# Every harness for FUZZ_SECONDS; ours and what was found before come first.
FUZZ_SECONDS ?= 60
fuzz_flags := CC=clang SAN=fuzzer-no-link,address,undefined
fuzzers = $(patsubst tests/fuzz/%.c,$(out)/fuzzers/%,$(fuzz_sources))

.PHONY: fuzz fuzzers
fuzz:
	@scripts/deps build check fuzz
	@+$(MAKE) $(parallel) $(fuzz_flags) fuzzers
	@FUZZ_SECONDS=$(FUZZ_SECONDS) BUILD=$(BUILD) scripts/fuzz

fuzzers: $(fuzzers)

# core/ on other processors, emulated: aarch64, and s390x for its byte order.
FOREIGN ?= aarch64 s390x

.PHONY: foreign
foreign:
	@MAKE="$(MAKE)" scripts/check-foreign $(FOREIGN)

.PHONY: lint bench bench-programs
lint:
	@scripts/deps build check lint
	@CC=$(CC) scripts/lint

bench-programs: $(addprefix $(out)/tests/bench/,digests scale share $(bench_single))

bench:
	@scripts/deps build bench
	@+$(MAKE) $(parallel) all bench-programs
	@KIN=$(abspath $(out))/kin KINFS=$(abspath $(out))/kinfs \
		BENCH_PROGRAMS=$(abspath $(out))/tests/bench scripts/bench

# How well scores and listings agree with the truth.
.PHONY: eval eval-quick eval-text eval-program
eval-program: $(out)/tests/eval/likeness

eval: eval-program
	@LIKENESS=$(abspath $(out))/tests/eval/likeness scripts/eval full

eval-quick: eval-program
	@LIKENESS=$(abspath $(out))/tests/eval/likeness scripts/eval quick

# The same of the text of documents.
eval-text:
	@scripts/deps build eval_text
	@+$(MAKE) $(parallel) all $(out)/tests/eval/text
	@PROGRAMS=$(abspath $(out)) scripts/eval-text

# ---- using ----

mount_env = KINFS=$(out)/kinfs KIN=$(out)/kin \
	SRC=$(call quoted,$(SRC)) MNT=$(call quoted,$(MNT))

.PHONY: mount
mount:
	@$(mount_env) scripts/mount --check
	@scripts/deps build mount
	@+$(MAKE) $(parallel) all
	@$(mount_env) scripts/mount

# mount(8) finds the type kinfs through mount.kinfs, which is kinfs itself, and
# the type fuse.kinfs through mount.fuse3, which runs "kinfs" from the PATH.
manuals = core/cli/kin.1 core/lib/libkin.3 fs/kinfs.8 fs/kinfs-xattrs.7 fs/kinfs-limits.7 \
	core/share/kin-share.8 core/extract/kin-extract.1
completions = $(bash_dir)/kin.bash $(zsh_dir)/_kin $(fish_dir)/kin.fish

.PHONY: install uninstall
install: all
	install -d "$(DESTDIR)$(bindir)" "$(DESTDIR)$(sbindir)" \
		"$(DESTDIR)$(docdir)"
	install -m 755 $(out)/kinfs $(out)/kin $(out)/kin-share \
		$(out)/kin-extract $(out)/kin-extract-pdf \
		$(out)/kin-extract-picture "$(DESTDIR)$(bindir)"
	for folder in system user; do \
		install -d "$(DESTDIR)$(unitdir)/$$folder" && \
		sed 's|/usr/bin/kinfs|$(bindir)/kinfs|' \
			scripts/systemd/kinfs@.service \
			>"$(DESTDIR)$(unitdir)/$$folder/kinfs@.service"; \
	done
	ln -sf "$(bindir)/kinfs" "$(DESTDIR)$(sbindir)/mount.kinfs"
	for page in $(manuals); do \
		install -d "$(DESTDIR)$(mandir)/man$${page##*.}" && \
		install -m 644 "$$page" \
			"$(DESTDIR)$(mandir)/man$${page##*.}" || exit 1; \
	done
	install -m 644 fs/xattr.conf.example "$(DESTDIR)$(docdir)"
	install -d "$(DESTDIR)$(libdir)/pkgconfig" "$(DESTDIR)$(includedir)" \
		"$(DESTDIR)$(datadir)/doc/libkin-dev/examples"
	install -m 644 $(out)/libkin.so.1 "$(DESTDIR)$(libdir)"
	ln -sf libkin.so.1 "$(DESTDIR)$(libdir)/libkin.so"
	install -m 644 core/lib/kin.h "$(DESTDIR)$(includedir)"
	install -m 644 core/lib/example.c "$(DESTDIR)$(datadir)/doc/libkin-dev/examples"
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(libdir)|; s|@VERSION@|$(VERSION)|' \
		core/lib/kin.pc.in >"$(DESTDIR)$(libdir)/pkgconfig/kin.pc"
	for file in $(completions); do \
		install -d "$(DESTDIR)$${file%/*}" && \
		sed 's|@WORDS@|$(datadir)/kinfs/completion-words|' \
			"scripts/completion/$${file##*/}" \
			>"$(DESTDIR)$$file" || exit 1; \
	done
	for name in kinfs kin-share kin-extract; do \
		ln -sf kin.bash "$(DESTDIR)$(bash_dir)/$$name.bash" && \
		ln -sf kin.fish "$(DESTDIR)$(fish_dir)/$$name.fish" || exit 1; \
	done
	install -d "$(DESTDIR)$(datadir)/kinfs"
	install -m 755 scripts/completion/words \
		"$(DESTDIR)$(datadir)/kinfs/completion-words"
	install -m 755 scripts/desktop/open-similar \
		"$(DESTDIR)$(datadir)/kinfs/open-similar"
	install -d "$(DESTDIR)$(menu_dir)"
	sed 's|@DATADIR@|$(datadir)|' scripts/desktop/kinfs-similar.desktop \
		>"$(DESTDIR)$(menu_dir)/kinfs-similar.desktop"

uninstall:
	rm -f "$(DESTDIR)$(unitdir)/system/kinfs@.service" \
		"$(DESTDIR)$(unitdir)/user/kinfs@.service" \
		"$(DESTDIR)$(sbindir)/mount.kinfs" \
		"$(DESTDIR)$(bindir)/kinfs" "$(DESTDIR)$(bindir)/kin" \
		"$(DESTDIR)$(bindir)/kin-share" \
		"$(DESTDIR)$(bindir)/kin-extract" \
		"$(DESTDIR)$(bindir)/kin-extract-pdf" \
		"$(DESTDIR)$(bindir)/kin-extract-picture" \
		"$(DESTDIR)$(docdir)/xattr.conf.example" \
		"$(DESTDIR)$(bash_dir)/kin.bash" \
		"$(DESTDIR)$(bash_dir)/kinfs.bash" \
		"$(DESTDIR)$(bash_dir)/kin-share.bash" \
		"$(DESTDIR)$(bash_dir)/kin-extract.bash" \
		"$(DESTDIR)$(fish_dir)/kin.fish" \
		"$(DESTDIR)$(fish_dir)/kinfs.fish" \
		"$(DESTDIR)$(fish_dir)/kin-share.fish" \
		"$(DESTDIR)$(fish_dir)/kin-extract.fish" \
		"$(DESTDIR)$(zsh_dir)/_kin" \
		"$(DESTDIR)$(datadir)/kinfs/completion-words" \
		"$(DESTDIR)$(datadir)/kinfs/open-similar" \
		"$(DESTDIR)$(menu_dir)/kinfs-similar.desktop" \
		"$(DESTDIR)$(libdir)/libkin.so.1" "$(DESTDIR)$(libdir)/libkin.so" \
		"$(DESTDIR)$(libdir)/pkgconfig/kin.pc" "$(DESTDIR)$(includedir)/kin.h" \
		"$(DESTDIR)$(datadir)/doc/libkin-dev/examples/example.c"
	for page in $(manuals); do \
		rm -f "$(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/}"; \
	done
	[ ! -d "$(DESTDIR)$(docdir)" ] || \
		rmdir --ignore-fail-on-non-empty "$(DESTDIR)$(docdir)"

# Debian packages in build/deb; deb-check builds them twice, tests, upgrades and
# removes them in a fresh Debian, and builds them for arm64.  packages-check does
# what can be done here for the packages of other distributions.
.PHONY: deb deb-check packages-check
deb:
	@scripts/deps build deb
	scripts/packaging/deb $(BUILD)/deb -b

deb-check:
	@scripts/deps build deb
	scripts/packaging/check-deb

packages-check:
	@scripts/deps packages
	scripts/packaging/check-others

.PHONY: clean help
clean:
	rm -rf $(BUILD)

help:
	@echo 'make                       build kinfs, kin, kin-share and kin-extract'
	@echo 'make mount SRC=dir MNT=dir build, then show dir SRC at MNT'
	@echo 'make check                 install what is missing, build, run the tests'
	@echo 'make check-quick           one of each kind, in a minute'
	@echo 'make check-long            sanitizers, random operations, recall, slow tests'
	@echo 'make unit | e2e            one kind of test; SAN= applies'
	@echo 'make conform               compare the mount with a plain directory, call by call'
	@echo 'make stress                random operations, killed daemons, stress-ng, fio,'
	@echo '                           SECONDS=$(SECONDS) each, STRESS_SEED=; SAN= applies'
	@echo 'make fuzz                  look for inputs that break it, FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make foreign               test core/ on aarch64 and s390x, emulated'
	@echo 'make lint                  format, static analysis, layering, manuals'
	@echo 'make bench                 the digests, ssdeep, ...; the mount, bindfs, ...; many files'
	@echo 'make eval                  scores and listings against the truth: Debian packages'
	@echo 'make eval-quick            the same without a network, 2 minutes'
	@echo 'make eval-text             the same of documents in many formats, 10 minutes'
	@echo 'make deb                   Debian packages in build/deb'
	@echo 'make deb-check             ... built twice, tested, upgraded, removed; arm64'
	@echo 'make packages-check        build the packages of RPM and Arch, evaluate that of Nix'
	@echo 'make install | uninstall   PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make clean                 remove build/'
	@echo
	@echo 'V=1            show the commands'
	@echo 'SAN=address    address, undefined, thread or address,undefined;'
	@echo '               built in build/address and so on'
	@echo 'LIBFUSE=DIR    link the libfuse that scripts/deps --libfuse [DIR]'
	@echo '               built, in build/libfuse if not told where'
	@echo 'CC=clang       another compiler; CFLAGS, LDFLAGS as usual'
	@echo 'TEST_TIMEOUT=  seconds one test may take ($(TEST_TIMEOUT))'
