#!/usr/bin/env python3
"""torch.linalg and torch.fft on the virtual GPU, and what it does not have of them.

Run with the virtual GPU preloaded and HEADROOM_VIRTUAL_CARD set.
"""

import ctypes
import subprocess
import sys
import unittest
import warnings

import torch

TYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
# complex64 matrices of 4 x 4 in batches of 1, 2, 4, ... 256: what cusolverDnCheevjBatched_bufferSize
# answered on a real card (cupy/cupy issue 7261).
PUBLISHED_WORDS = (2077, 3126, 5224, 9420, 17812, 34596, 68164, 135300, 269572)


def peak_bytes(operation):
    """The most that the operation requests, its results included."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    torch.cuda.reset_peak_memory_stats()
    operation()
    return torch.cuda.memory_stats()["requested_bytes.all.peak"] - before


def cusolver():
    """The process's cuSOLVER, a handle of it, and an address on the card."""
    torch.linalg.cholesky(torch.eye(2, device="cuda"))  # loads it
    library, handle = ctypes.CDLL(None), ctypes.c_void_p()
    if library.cusolverDnCreate(ctypes.byref(handle)) != 0:
        raise RuntimeError("no cuSOLVER handle")
    return library, handle, ctypes.c_void_p(torch.empty(1, device="cuda").data_ptr())


def potrf_bytes(n):
    library, handle, address = cusolver()
    on_device, on_host = ctypes.c_size_t(), ctypes.c_size_t()
    size, real = ctypes.c_int64(n), ctypes.c_int(0)
    status = library.cusolverDnXpotrf_bufferSize(
        handle, None, ctypes.c_int(0), size, real, address, size, real, ctypes.byref(on_device),
        ctypes.byref(on_host))
    return on_device.value if status == 0 else None


class Linalg(unittest.TestCase):
    def test_a_workspace_is_that_of_a_real_card(self):
        library, handle, address = cusolver()
        info, words = ctypes.c_void_p(), ctypes.c_int()
        real = ctypes.CDLL("libcusolver.so.12")  # of the process
        self.assertEqual(real.cusolverDnCreateSyevjInfo(ctypes.byref(info)), 0)
        for power, published in enumerate(PUBLISHED_WORDS):
            status = library.cusolverDnCheevjBatched_bufferSize(
                handle, 1, 0, 4, address, 4, address, ctypes.byref(words), info, 2 ** power)
            self.assertEqual((status, words.value), (0, published))

    def test_cholesky_allocates_its_result_the_workspace_and_the_report(self):
        for n in (100, 512, 2000):
            matrix = torch.empty(n, n, device="cuda")
            wanted = n * n * 4 + potrf_bytes(n) + 4
            self.assertEqual(peak_bytes(lambda m=matrix: torch.linalg.cholesky(m)), wanted)

    def test_factorizations_and_solves_run(self):
        linalg = torch.linalg
        for dtype in TYPES:
            for shape in ((64, 64), (8, 64, 64)):
                matrix = torch.empty(shape, device="cuda", dtype=dtype)
                right = torch.empty(*shape[:-1], 4, device="cuda", dtype=dtype)
                for name, operation, out in (
                        ("cholesky", linalg.cholesky, shape),
                        ("cholesky_solve", lambda m: torch.cholesky_solve(right, m), right.shape),
                        ("inv", linalg.inv, shape),
                        ("solve", lambda m: linalg.solve(m, right), right.shape),
                        ("lu", lambda m: linalg.lu(m).L, shape),
                        ("qr", lambda m: linalg.qr(m).Q, shape),
                        ("svd", lambda m: linalg.svd(m).U, shape),
                        ("gesvd", lambda m: linalg.svd(m, driver="gesvd").U, shape),
                        ("gesvda", lambda m: linalg.svd(m, driver="gesvda").U, shape),
                        ("eigh", lambda m: linalg.eigh(m).eigenvectors, shape),
                        ("lstsq", lambda m: linalg.lstsq(m, right).solution, right.shape),
                        ("ldl", lambda m: linalg.ldl_factor(m).LD, shape)):
                    with self.subTest(name, dtype=dtype, shape=shape):
                        self.assertEqual(operation(matrix).shape, out)

    def test_gradients_run(self):
        matrix = torch.empty(64, 64, device="cuda", requires_grad=True)
        for operation in (torch.linalg.cholesky, torch.linalg.inv, torch.linalg.svdvals,
                          torch.linalg.eigvalsh):
            operation(matrix).sum().backward()
        self.assertEqual(matrix.grad.shape, (64, 64))


class Fourier(unittest.TestCase):
    """Transforms run, with the work area that virtual_gpu/cufft assumes beside their tensors."""

    def test_a_transform_asks_for_its_result_and_its_work_area(self):
        data = torch.empty(16, 1024, dtype=torch.complex64, device="cuda")
        self.assertEqual(peak_bytes(lambda: torch.fft.fft(data)), 2 * data.nbytes)
        matrix = torch.empty(4, 256, 512, dtype=torch.complex128, device="cuda")
        self.assertEqual(peak_bytes(lambda: torch.fft.fft2(matrix)), 2 * matrix.nbytes)

    def test_real_data_have_half_of_the_last_dimension(self):
        data = torch.empty(16, 1024, device="cuda")
        half = 16 * 513 * 8
        self.assertEqual(torch.fft.rfft(data).shape, (16, 513))
        self.assertEqual(peak_bytes(lambda: torch.fft.rfft(data)), 2 * half)

    def test_a_long_prime_is_worked_on_by_a_power_of_two(self):
        data = torch.empty(1009, dtype=torch.complex64, device="cuda")
        self.assertEqual(peak_bytes(lambda: torch.fft.fft(data)), data.nbytes + 2048 * 8)

    def test_gradients_and_windows_run(self):
        sound = torch.empty(8000, device="cuda", requires_grad=True)
        window = torch.ones(256, device="cuda")
        torch.stft(sound, 256, window=window, return_complex=True).abs().sum().backward()
        self.assertEqual(sound.grad.shape, (8000,))
        self.assertEqual(torch.fft.irfft(torch.fft.rfft(sound.detach())).shape, (8000,))

    def test_the_assumption_is_said_once(self):
        program = "import torch\nfor n in (64, 128): torch.fft.fft(torch.empty(n, device='cuda'))"
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                               check=False)
        said = ended.stderr.count("assumed, not known: a cuFFT plan")
        self.assertEqual((ended.returncode, said), (0, 1), ended.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main()
