#error "cudasim: cuRAND (write the generator, or use Random123): not supported"
