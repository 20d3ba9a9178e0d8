#!/usr/bin/env python3
"""Sparse tensors on the virtual GPU: products with dense ones and solves run, with cuSPARSE's own
workspaces; what depends on the contents of two sparse tensors is refused by name.

Run with the virtual GPU preloaded and HEADROOM_VIRTUAL_CARD set.
"""

import ctypes
import random
import subprocess
import sys
import unittest
import warnings

import torch

SIZE, COUNT, WIDTH = 2000, 20000, 64
REAL = ctypes.CDLL("libcusparse.so.12")  # of the process
FLOAT, LONG, ROW_MAJOR = 0, 3, 2  # cudaDataType_t, cusparseIndexType_t, cusparseOrder_t


def peak_bytes(operation):
    """The most that the operation requests, its results included."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    torch.cuda.reset_peak_memory_stats()
    kept = operation()
    peak = torch.cuda.memory_stats()["requested_bytes.all.peak"] - before
    del kept
    return peak


def on_host():
    random.seed(0)
    places = sorted(random.sample(range(SIZE * SIZE), COUNT))
    indices = torch.tensor([[place // SIZE for place in places], [place % SIZE for place in places]])
    return torch.sparse_coo_tensor(indices, torch.ones(COUNT), (SIZE, SIZE), is_coalesced=True)


def descriptors():
    """Of the sparse matrix and a dense one; by the real library, as no handle is wanted."""
    sparse, dense = ctypes.c_void_p(), ctypes.c_void_p()
    somewhere, size = ctypes.c_void_p(1 << 40), ctypes.c_int64(SIZE)
    status = REAL.cusparseCreateCsr(ctypes.byref(sparse), size, size, ctypes.c_int64(COUNT), somewhere,
                                       somewhere, somewhere, LONG, LONG, 0, FLOAT)
    width = ctypes.c_int64(WIDTH)
    status |= REAL.cusparseCreateDnMat(ctypes.byref(dense), size, width, width, somewhere, FLOAT, ROW_MAJOR)
    if status != 0:
        raise RuntimeError("no descriptors of cuSPARSE")
    return sparse, dense


def product_bytes(library, handle, algorithm):
    """Of a product with a dense matrix in rows."""
    sparse, dense = descriptors()
    one, size = ctypes.c_float(1), ctypes.c_size_t()
    status = library.cusparseSpMM_bufferSize(handle, 0, 0, ctypes.byref(one), sparse, dense, ctypes.byref(one),
                                             dense, FLOAT, algorithm, ctypes.byref(size))
    return (status, size.value)


class Products(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.coo = on_host().cuda()
        cls.csr = on_host().to_sparse_csr().cuda()
        cls.dense = torch.empty(SIZE, WIDTH, device="cuda")

    def test_products_and_solves_run(self):
        vector, rows = self.dense[:, 0].contiguous(), self.dense.t().contiguous()
        for name, operation, shape in (
                ("csr dense", lambda: self.csr @ self.dense, (SIZE, WIDTH)),
                ("csr vector", lambda: self.csr @ vector, (SIZE,)),
                ("coo dense", lambda: torch.sparse.mm(self.coo, self.dense), (SIZE, WIDTH)),
                ("coo vector", lambda: torch.mv(self.coo, vector), (SIZE,)),
                ("sampled", lambda: torch.sparse.sampled_addmm(self.csr, self.dense, rows), (SIZE, SIZE)),
                ("solve", lambda: torch.triangular_solve(self.dense, self.csr, upper=True).solution,
                 (SIZE, WIDTH)),
                ("solve of one", lambda: torch.triangular_solve(self.dense[:, :1], self.csr, upper=True).solution,
                 (SIZE, 1))):
            with self.subTest(name):
                self.assertEqual(operation().shape, shape)

    def test_blocks_run(self):
        blocks = torch.eye(64).to_sparse_bsr((4, 4)).cuda()
        right = torch.empty(64, 8, device="cuda")
        self.assertEqual((blocks @ right).shape, (64, 8))
        self.assertEqual(torch.triangular_solve(right, blocks, upper=True).solution.shape, (64, 8))

    def test_a_gradient_runs(self):
        dense = torch.empty(SIZE, WIDTH, device="cuda", requires_grad=True)
        torch.sparse.mm(self.coo, dense).sum().backward()
        self.assertEqual(dense.grad.shape, (SIZE, WIDTH))

    def test_a_product_allocates_its_result_and_the_workspace(self):
        library, handle = ctypes.CDLL(None), ctypes.c_void_p()
        self.assertEqual(library.cusparseCreate(ctypes.byref(handle)), 0)
        csr_alg2 = 6  # libtorch's choice for a matrix of rows
        status, size = product_bytes(library, handle, csr_alg2)
        self.assertEqual(status, 0)
        self.assertGreater(size, 0)
        self.csr @ self.dense  # the handle's own
        # libtorch adds to zeros of its own, which become no result.
        self.assertEqual(peak_bytes(lambda: self.csr @ self.dense), 2 * self.dense.nbytes + size)

    def test_a_workspace_does_not_depend_on_the_handle(self):
        library, handle = ctypes.CDLL(None), ctypes.c_void_p()
        self.assertEqual(library.cusparseCreate(ctypes.byref(handle)), 0)
        mark = ctypes.cast(descriptors()[0], ctypes.POINTER(ctypes.c_uint64))[0]
        random.seed(1)
        for fill in (lambda: 0, lambda: 0x8400000084, lambda: random.getrandbits(64)):
            words = (ctypes.c_uint64 * 32768)(mark, *(fill() for _ in range(32767)))
            for algorithm in (0, 4, 6, 12):
                self.assertEqual(product_bytes(library, handle, algorithm),
                                 product_bytes(REAL, ctypes.byref(words), algorithm))


class TwoSparse(unittest.TestCase):
    def test_a_product_of_two_names_the_virtual_gpu_once(self):
        program = ("import torch\n"
                   "sparse = torch.eye(8).to_sparse_csr().cuda()\n"
                   "try: sparse @ sparse\n"
                   "except RuntimeError as error: print(error)\n"
                   "sparse @ sparse")
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("not supported on a virtual GPU", ended.stdout)
        self.assertEqual(ended.stderr.count("a virtual GPU has no sum or product of two sparse tensors"), 1,
                         ended.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main()
