python3 tests/virtual_gpu/mesh_fit_test.py build/release/bin/headroom 2>&1 | tail -60
