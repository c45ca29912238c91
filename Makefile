# Try `make help`.
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SECONDARY:
BUILD  ?= build
CFLAGS ?= -O3 -g -march=native
# CUDA is found, or not, here and nowhere else: the wheels of `make cuda`, the usual place, or the PATH.
NVCC   ?= $(firstword $(wildcard .cuda/nvidia/cu13/bin/nvcc /usr/local/cuda/bin/nvcc) $(shell command -v nvcc))
CUDA   := $(if $(NVCC),$(abspath $(dir $(NVCC))..))
# A GPU in this machine: build for it; none: for every generation that this nvcc knows.
ARCH   ?= $(if $(shell command -v nvidia-smi),native,all-major)

common_flags := -I. -I$(BUILD) -MMD -MP
# Nobody reads errno after sqrt, and gcc vectorises it only then; results stay the same.
CC_FLAGS      = -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -fno-math-errno -fopenmp $(common_flags) $(CFLAGS)
NVCC_FLAGS    = -std=c++17 -O3 -lineinfo -arch=$(ARCH) --threads 0 -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers,-fopenmp $(common_flags)
# Without nvcc the same .cu files go through cudasim: translated to C++, with a call of its diagnosis before every load and store.
SIM_FLAGS     = -std=c++17 -O1 -fno-tree-sra -fno-unroll-loops -g -w -fPIC -fopenmp -fsanitize=thread --param tsan-instrument-func-entry-exit=0 \
                --param tsan-distinguish-volatile=1 -D__CUDACC__ -D__CUDASIM__ -Icommon/cudasim/include -I. -I$(BUILD)
CUDA_LIBS     = $(if $(NVCC),$(foreach d,$(wildcard $(CUDA)/lib64 $(CUDA)/lib),-L$d -Wl$(comma)-rpath$(comma)$d) -lcusolver -lcublas -lcudart) -lstdc++
comma        := ,
LDLIBS        = $(CUDA_LIBS) -llapacke -lopenblas -lcjson -lcsv -lnlopt -ldl -lm -fopenmp

# A folder is a problem, a file is an approach: both are found, never listed.
sources     = $(filter-out $(foreach d,$(1),$(d)/test_% $(d)/fuzz_% $(d)/main.c),$(wildcard $(foreach d,$(1),$(d)/*.c $(d)/*.cu)))
backends   := gp/cpu_naive.c gp/cpu_openmp.c gp/cuda_naive.cu gp/cuda_optimized.cu
devices    := $(wildcard bench/device_*.cu)
problems   := $(wildcard lessons/[0-9]*/problem.c)
steps      := $(wildcard lessons/[0-9]*/steps.c)
exercises  := $(wildcard lessons/[0-9]*/exercise/*_check.c)
examples   := $(wildcard gp/examples/*.c)
fuzzers    := $(wildcard gp/fuzz_*.c bench/fuzz_*.c)
tests      := $(wildcard common/test_*.c common/cudasim/test_*.c gp/test_*.c bench/test_*.c lessons/*/test_*.c)
approaches := $(filter-out $(problems) $(steps) $(tests),$(foreach p,$(problems),$(wildcard $(dir $p)*.c $(dir $p)*.cu $(dir $p)*.py)))
registered := $(exercises) $(problems) $(sort $(approaches)) $(devices) $(backends)
objects     = $(patsubst %,$(BUILD)/%.o,$(filter-out %.py,$(1)))
simulator  := $(patsubst %,$(BUILD)/%.o,$(filter-out %/translate.cpp,$(wildcard common/cudasim/*.cpp)))

bench_options = $(if $(FULL),--full) $(OPTIONS)

.PHONY: all bench test learn sim roof list fuzz cuda deps install help clean FORCE
all: $(BUILD)/bench_cli $(BUILD)/gp_cli $(examples:%.c=$(BUILD)/%) ## build everything
bench: $(BUILD)/bench_cli ## verify, measure, plot, write the report (FULL=1: every size; OPTIONS='-f reduction': see bench --help)
	$< run $(bench_options)
# Where nvcc builds the CUDA code, the simulator's build of it has a folder of its own.
sim_build := $(if $(NVCC),$(BUILD)/sim,$(BUILD))
# With nvcc and no GPU, nvcc must compile everything, and the tests run in that folder.
ifeq ($(if $(NVCC),$(shell command -v nvidia-smi),simulated),)
test: all
	@$(MAKE) --no-print-directory BUILD=$(sim_build) NVCC= test
else
test: $(tests:%.c=$(BUILD)/%.test) $(BUILD)/bench_cli $(BUILD)/gp_cli $(BUILD)/cudasim $(BUILD)/learn $(examples:%.c=$(BUILD)/%) ## run every test; CUDA code on the GPU, or on the simulator
	@BUILD=$(BUILD) BENCH_CLI=$(abspath $(BUILD)/bench_cli) GP_CLI=$(abspath $(BUILD)/gp_cli) CUDASIM_CLI=$(abspath $(BUILD)/cudasim) LEARN_CLI=$(abspath $(BUILD)/learn) \
	    common/run_tests.sh $(tests:%.c=$(BUILD)/%.test)
endif
learn: $(BUILD)/learn ## build ./learn, which leads through the lessons: ./learn next
	@ln -sf $< learn && echo "Ready: ./learn next"
sim: ## run one CUDA approach on the CPU, diagnosed (FILE=lessons/05_reduction/cuda_1_naive.cu; N, CARD, SEED)
	$(if $(FILE),,$(error make sim: name a CUDA approach, FILE=lessons/05_reduction/cuda_1_naive.cu; make list has them all))
	@mkdir -p $(BUILD); $(MAKE) --no-print-directory BUILD=$(sim_build) NVCC= $(sim_build)/bench_cli >$(BUILD)/sim.log 2>&1 || { cat $(BUILD)/sim.log; exit 1; }
	@CUDASIM=check CUDASIM_REPORT=text CUDASIM_CARD=$(or $(CARD),h200) CUDASIM_SEED=$(or $(SEED),0) $(sim_build)/bench_cli sim $(FILE) $(N)
roof: $(BUILD)/bench_cli ## measure this machine's ceilings: memory, matrix product, transfers
	$< roof
list: $(BUILD)/bench_cli ## every problem and approach, and what stands against it here
	$< list
fuzz: ## feed the readers of texts and files with damaged ones, each for SECONDS (600); needs clang with libomp
	$(MAKE) BUILD=build/fuzz CC=clang NVCC= CFLAGS='-O1 -g -fsanitize=fuzzer-no-link,address,undefined -Wno-pass-failed' $(fuzzers:%.c=build/fuzz/%)
	for f in $(fuzzers:%.c=%); do \
	    mkdir -p build/fuzz/corpus/$$f && cp -n $(FUZZ_SEEDS) build/fuzz/corpus/$$f/ && echo "$$f" && \
	    build/fuzz/$$f -max_total_time=$(SECONDS) -artifact_prefix=build/fuzz/ build/fuzz/corpus/$$f || exit 1; done
cuda: ## fetch nvcc and CUDA's libraries into .cuda, without root
	common/cuda_wheels.sh
deps: ## install the system packages that are missing (DEPS=skip turns this off everywhere)
	common/deps.sh '$(CC)' '$(NVCC)'
help: ## this text
	@echo 'Settings: CC=clang  NVCC= (no CUDA)  ARCH=sm_90  BUILD=build/asan  CFLAGS="-O1 -g -fsanitize=address,undefined"'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r t text; do printf '  make %-7s %s\n' "$$t" "$$text"; done
clean: ## remove the build folder
	rm -rf $(BUILD)

$(BUILD)/libgp.a: $(call objects,$(call sources,common gp)) $(BUILD)/gp_backends.o $(if $(NVCC),,$(simulator))
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/libbench.a: $(call objects,$(call sources,bench) $(problems) $(steps) $(approaches)) $(BUILD)/registry.o
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/bench_cli: $(BUILD)/bench/main.c.o $(BUILD)/libbench.a $(BUILD)/libgp.a
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/gp_cli: $(call objects,$(wildcard gp/command/*.c)) $(BUILD)/libgp.a
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
# The runner of the lessons, and what each exercise's submission is linked with: always compiled by the simulator, CUDA or not.
runner     := $(filter-out %/test_learn.c,$(wildcard lessons/learn/*.c)) $(exercises) $(filter-out common/test_% common/fuzz_%,$(wildcard common/*.c))
$(BUILD)/learn: $(call objects,$(runner)) $(BUILD)/exercises.o $(BUILD)/cudasim $(patsubst %_check.c,$(BUILD)/%_call.sim.o,$(exercises)) \
                $(BUILD)/lessons/learn/driver.sim.o
	$(CC) $(CFLAGS) -o $@ $(filter %.c.o $(BUILD)/exercises.o,$^) -llapacke -lopenblas -lcjson -lm -fopenmp
$(BUILD)/%.sim.o: %.cu lessons/learn/call.h $(BUILD)/cudasim
	@mkdir -p $(@D)
	$(BUILD)/cudasim compile -c $< -o $@ -I.
$(BUILD)/gp/examples/%: $(BUILD)/gp/examples/%.c.o $(BUILD)/libgp.a
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
SECONDS ?= 600
FUZZ_SEEDS := bench/testdata/fuzz_seeds/*
$(fuzzers:%.c=build/fuzz/%): build/fuzz/%: build/fuzz/%.c.o build/fuzz/libbench.a build/fuzz/libgp.a
	$(CC) $(CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)
$(BUILD)/%.test: $(BUILD)/%.c.o $(BUILD)/libbench.a $(BUILD)/libgp.a
	$(CC) $(CFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# lessons/05_reduction/cuda_2_shared.cu must define `reduction_cuda_2_shared`; a wrong name is a link error that says so.
$(BUILD)/registry.h $(BUILD)/registry.c $(BUILD)/gp_backends.c $(BUILD)/exercises.c &: bench/make_registry.sh $(BUILD)/registered.list | $(BUILD)/deps.ok
	bench/make_registry.sh $(BUILD) $(registered)
# Once per build folder: every object waits for the registry, and the registry for this.
$(BUILD)/deps.ok: common/deps.sh
	@mkdir -p $(BUILD); common/deps.sh '$(CC)' '$(NVCC)' && touch $@
$(BUILD)/registered.list: FORCE
	@mkdir -p $(BUILD); echo '$(NVCC) $(registered)' | cmp -s - $@ || echo '$(NVCC) $(registered)' > $@
# The library for others: one header (with the statuses it speaks of), an archive, a shared object that shows gp_* alone, and gp.pc.
PREFIX ?= /usr/local
pic    := $(patsubst $(BUILD)/%,$(BUILD)/pic/%,$(call objects,$(call sources,common gp)) $(BUILD)/gp_backends.o)
$(BUILD)/pic/%.c.o: %.c | $(BUILD)/registry.h
	@mkdir -p $(@D)
	$(CC) $(CC_FLAGS) -fPIC -c -o $@ $<
$(BUILD)/pic/%.cu.o: %.cu $(if $(NVCC),,$(BUILD)/cudasim_translate) | $(BUILD)/registry.h
	@mkdir -p $(@D)
	$(if $(NVCC),$(NVCC) $(NVCC_FLAGS) -Xcompiler -fPIC -c -o $@ $<,$(simulate))
$(BUILD)/pic/gp_backends.o: $(BUILD)/gp_backends.c
	@mkdir -p $(@D)
	$(CC) $(CC_FLAGS) -fPIC -c -o $@ $<
$(BUILD)/libgp.so: $(pic) $(if $(NVCC),,$(simulator)) gp/libgp.map
	$(CC) $(CFLAGS) -shared -Wl,-soname,libgp.so.0 -Wl,--version-script=gp/libgp.map -o $@ $(filter %.o,$^) $(LDLIBS)
$(BUILD)/gp.h: gp/gp.h common/status.h
	sed -e '/#include "common\/status.h"/{r common/status.h' -e 'd}' gp/gp.h >$@
$(BUILD)/gp.pc: gp/gp.pc.in Makefile FORCE
	sed -e 's|@prefix@|$(PREFIX)|' -e 's|@libs@|$(CUDA_LIBS) -llapacke -lopenblas -lnlopt -lcsv -lm -fopenmp|' gp/gp.pc.in >$@
install: $(BUILD)/gp_cli $(BUILD)/libgp.a $(BUILD)/libgp.so $(BUILD)/gp.h $(BUILD)/gp.pc ## install the command gp and its library under PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 755 $(BUILD)/gp_cli $(DESTDIR)$(PREFIX)/bin/gp
	install -m 644 $(BUILD)/gp.h $(DESTDIR)$(PREFIX)/include/gp.h
	install -m 644 $(BUILD)/libgp.a $(DESTDIR)$(PREFIX)/lib/libgp.a
	install -m 755 $(BUILD)/libgp.so $(DESTDIR)$(PREFIX)/lib/libgp.so.0
	ln -sf libgp.so.0 $(DESTDIR)$(PREFIX)/lib/libgp.so
	install -m 644 $(BUILD)/gp.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/gp.pc

# What environment.c writes into every results file.
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
TREE   ?= $(if $(COMMIT),$(if $(shell git status --porcelain 2>/dev/null),modified,clean),unknown)
define build_info
#define BUILD_COMMIT "$(COMMIT)"
#define BUILD_TREE "$(TREE)"
#define BUILD_COMPILER "$(shell $(CC) --version | head -n 1)"
#define BUILD_FLAGS "$(strip $(CFLAGS))"
#define BUILD_NVCC "$(if $(NVCC),$(shell $(NVCC) --version | sed -n 's/.*release.*V/V/p'),none)"
#define BUILD_ARCH "$(ARCH)"
endef
$(BUILD)/build_info.h: FORCE
	$(file >$@.new,$(build_info))
	@cmp -s $@.new $@ || cp $@.new $@
$(BUILD)/bench/environment.c.o: $(BUILD)/build_info.h
$(BUILD)/gp/cuda_compiled.c.o $(BUILD)/pic/gp/cuda_compiled.c.o: gp/cuda_expression.cuh
$(BUILD)/%.o: $(BUILD)/%.c
	$(CC) $(CC_FLAGS) -c -o $@ $<
$(BUILD)/%.c.o: %.c | $(BUILD)/registry.h
	@mkdir -p $(@D)
	$(CC) $(CC_FLAGS) -c -o $@ $<
$(BUILD)/%.cu.o: %.cu $(if $(NVCC),,$(BUILD)/cudasim_translate) | $(BUILD)/registry.h
	@mkdir -p $(@D)
	$(if $(NVCC),$(NVCC) $(NVCC_FLAGS) -c -o $@ $<,$(simulate))
define simulate
@echo "cudasim $<"
@$(CXX) $(SIM_FLAGS) -E -x c++ -include cuda_runtime.h -MMD -MP -MT $@ -MF $(@:.o=.d) -o $(@:.o=.ii) $<
@$(BUILD)/cudasim_translate <$(@:.o=.ii) >$(@:.o=.cpp.ii)
@$(CXX) $(SIM_FLAGS) -fpreprocessed -x c++ -c -o $@ $(@:.o=.cpp.ii)
endef
# The simulator itself. -U_FORTIFY_SOURCE: its fibers jump between stacks, which the fortified longjmp takes for a mistake.
CXX_FLAGS = -std=c++17 -O2 -g -Wall -Wextra -fPIC -fopenmp -U_FORTIFY_SOURCE -MMD -MP
$(BUILD)/common/cudasim/%.cpp.o: common/cudasim/%.cpp | $(BUILD)/deps.ok
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) -c -o $@ $<
$(BUILD)/cudasim_translate: $(BUILD)/common/cudasim/translate.cpp.o
	$(CXX) -o $@ $<
$(BUILD)/libcudasim.a: $(simulator)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/cudasim: common/cudasim/cudasim.sh $(BUILD)/cudasim_translate $(BUILD)/libcudasim.a
	sed 's|@SOURCE@|$(abspath common/cudasim)|' $< >$@ && chmod +x $@
-include $(shell find $(BUILD) -path $(BUILD)/sim -prune -o -name '*.d' -print 2>/dev/null)
