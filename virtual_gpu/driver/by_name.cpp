// Empty on purpose: virtual_gpu/CMakeLists.txt says why.
