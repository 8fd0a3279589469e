#!/usr/bin/env python3
"""Tests that warpaes.torch.Generator is not bypassed and that it works with samplers, data loaders, processes, threads
and Opacus. Like test_torch.py, run this program by hand on a machine with PyTorch and, for its last part, opacus.

PYTHONPATH=build/default/python:tests/python python3 tests/python/test_torch_generator_use.py
"""

from __future__ import annotations

import gc
import os
import pickle
import threading
import unittest
import warnings
from copy import copy, deepcopy
from typing import Any

import torch
import warpaes
import warpaes.torch as ours
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import data
from warpaes._torch_generator import _become_custom

KEY = bytes(range(16))
needs_gpu = unittest.skipUnless(torch.cuda.is_available(), "PyTorch found no GPU; a machine with a GPU runs this test")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def source() -> warpaes.Generator:
    return warpaes.Generator(KEY)


def raw(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().cpu().view(-1).view(torch.uint8).numpy())


def made(stream: int = 0) -> Any:
    return ours.Generator(warpaes.Generator(KEY, stream=stream))


class Numbers(data.Dataset):
    def __init__(self, generator: Any = None) -> None:
        self.generator = generator

    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> Any:
        return index if self.generator is None else torch.rand((), generator=self.generator)


class Safety(unittest.TestCase):
    """The numbers are exactly the source's numbers and never repeat."""

    def test_every_operator_is_made_or_refused(self) -> None:
        has = torch._C._dispatch_has_computed_kernel_for_dispatch_key
        names = {
            f"{schema.name}.{schema.overload_name}".rstrip(".")
            for schema in torch._C._jit_get_all_schemas()
            if schema.name.startswith("aten::") and any("Generator" in str(part.type) for part in schema.arguments)
        } - {"aten::_no_grad_normal_", "aten::_no_grad_uniform_", "aten::initial_seed", "aten::seed",
             "aten::manual_seed.generator"}  # fmt: skip  # TorchScript's
        self.assertGreater(len(names), 70)
        self.assertEqual([name for name in sorted(names) if not has(name, "CustomRNGKeyId")], [])
        for call in (
            lambda g: torch.poisson(torch.ones(3), generator=g),
            lambda g: torch.binomial(torch.ones(3), torch.ones(3), generator=g),
            lambda g: torch._standard_gamma(torch.ones(3), generator=g),
            lambda g: torch._sample_dirichlet(torch.ones(3), generator=g),
            lambda g: torch.rrelu(torch.ones(3), training=True, generator=g),
            lambda g: torch._fused_dropout(torch.ones(3), 0.5, generator=g),
        ):
            with self.assertRaisesRegex(NotImplementedError, "with a warpaes.torch.Generator"):
                call(made())

    def test_kernels_of_pytorchs_refuse_it(self) -> None:
        """If these kernels accepted the generator, they would use the Mersenne Twister's numbers."""
        aten = torch.ops.aten
        for device in DEVICES:
            data = torch.full((64,), 0.5, device=device)
            key = torch._C.DispatchKeySet(torch._C._parse_dispatch_key(device.upper()))
            for operator, arguments in (
                (aten.normal_.default, ()), (aten.uniform_.default, ()), (aten.random_.default, ()),
                (aten.random_.to, (5,)), (getattr(aten.random_, "from"), (2, 5)), (aten.exponential_.default, ()),
                (aten.cauchy_.default, ()), (aten.log_normal_.default, ()), (aten.geometric_.default, (0.5,)),
                (aten.bernoulli_.float, ()), (aten.bernoulli_.Tensor, (data.clone(),)), (aten.poisson.default, ()),
                (aten.normal.Tensor_float, (1.0,)), (aten.multinomial.default, (3, True)),
            ):  # fmt: skip
                with self.assertRaisesRegex(RuntimeError, "but found 'meta'", msg=str(operator)):
                    operator.redispatch(key, data, *arguments, generator=made())
            with self.assertRaisesRegex(RuntimeError, "but found 'meta'"):
                out = torch.empty(40, dtype=torch.int64, device=device)
                aten.randperm.generator_out.redispatch(key, 40, generator=made(), out=out)

    def test_no_other_generator_is_taken(self) -> None:
        stranger = torch.Generator()
        _become_custom(stranger)
        with self.assertRaisesRegex(TypeError, "still exists"):
            torch.rand(3, generator=stranger)
        with self.assertRaisesRegex(RuntimeError, "does not support the generators"):
            _become_custom(stranger)
        with self.assertRaisesRegex(TypeError, "must be a warpaes.Generator"):
            ours.Generator(KEY)

        class Careless(ours.Generator):
            def __init__(self) -> None:
                pass

        with self.assertRaisesRegex(TypeError, "still exists"):
            torch.rand(3, generator=Careless())
        first = torch.Generator().manual_seed(5)
        second = torch.Generator().manual_seed(5)
        self.assertEqual(torch.rand(3, generator=first).tolist(), torch.rand(3, generator=second).tolist())

    def test_its_methods(self) -> None:
        generator = made()
        self.assertIsInstance(generator, torch.Generator)
        self.assertEqual(str(generator.device), "cpu")
        self.assertEqual(ours.Generator(device="cuda:1").device, torch.device("cuda", 1))
        self.assertNotEqual(*(raw(torch.rand(4, generator=ours.Generator())) for _ in range(2)))
        for name in ("seed", "initial_seed", "get_offset", "graphsafe_get_state"):
            with self.assertRaises(NotImplementedError):
                getattr(generator, name)()
        for name, argument in (
            ("manual_seed", 5), ("set_offset", 4), ("philox_state", 4), ("graphsafe_set_state", torch.Generator()),
        ):  # fmt: skip
            with self.assertRaises(NotImplementedError):
                getattr(generator, name)(argument)
        inherited = {name for name in vars(torch.Generator) if not name.startswith("_")} - set(vars(ours.Generator))
        self.assertEqual(inherited, set())
        with self.assertRaises(TypeError):
            pickle.dumps(generator)
        for copied in (copy, deepcopy, lambda it: it.__reduce__(), lambda it: it.__setstate__((1, None, None))):
            with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                copied(generator)

    def test_state(self) -> None:
        generator = made(7)
        torch.rand(100, generator=generator)
        state = generator.get_state()
        self.assertNotIn(KEY, raw(state))
        expected = torch.randn(10, generator=generator).tolist()
        torch.rand(5, generator=generator)
        again = made(7).set_state(state)
        for one in (again, generator.set_state(state), made(7).set_state(state).clone_state()):
            self.assertEqual(torch.randn(10, generator=one).tolist(), expected)
        other_key = ours.Generator(warpaes.Generator(bytes(16), stream=7))
        wrong = [torch.Generator().get_state(), made(8).get_state(), other_key.get_state(), state.long(), state[:31]]
        for bad in wrong:
            with self.assertRaisesRegex(ValueError, "with the same key and stream"):
                generator.set_state(bad)
        self.assertEqual(generator.source.position, again.source.position)
        clone = generator.clone_state()
        torch.rand(5, generator=clone)
        self.assertNotEqual(clone.source.position, generator.source.position)

    def test_it_is_not_drawn_from_in_fake_tensors(self) -> None:
        generator = made()
        with FakeTensorMode():
            for draw in (
                lambda g: torch.empty(3).uniform_(1, 2, generator=g),
                lambda g: torch.normal(0.0, torch.ones(3), generator=g),
                lambda g: torch.bernoulli(torch.ones(3), generator=g),
                lambda g: torch.randperm(3, generator=g),
                lambda g: torch.randint(3, (3,), generator=g),
                lambda g: torch.multinomial(torch.ones(5), 3, generator=g),
            ):
                self.assertEqual(draw(generator).shape, (3,))
        self.assertEqual(generator.source.position, 0)

    def test_it_lives_and_dies(self) -> None:
        """Generators also work at addresses that are reused."""
        for _ in range(1000):
            generator = made()
            first = torch.rand(1, generator=generator).item()
            del generator
        gc.collect()
        self.assertEqual(first, source().random(1, "float32")[0])

    @needs_gpu
    def test_a_graph_does_not_repeat_it(self) -> None:
        numbers, generator = torch.empty(100, device="cuda"), made()
        with self.assertRaisesRegex(RuntimeError, "every replay"), torch.cuda.graph(torch.cuda.CUDAGraph()):
            numbers.normal_(generator=generator)
        self.assertEqual(generator.source.position, 0)


class Samplers(unittest.TestCase):
    def test_orders(self) -> None:
        order = torch.randperm(100, generator=made()).tolist()
        self.assertEqual(list(data.RandomSampler(range(100), generator=made())), order)
        self.assertEqual(list(data.SubsetRandomSampler(range(100), generator=made())), order)
        first, second = data.random_split(Numbers(), [30, 70], generator=made())
        self.assertEqual((first.indices, second.indices), (order[:30], order[30:]))
        drawn = list(data.RandomSampler(range(100), True, 50, generator=made()))
        self.assertEqual(drawn[:32], torch.randint(100, (32,), generator=made()).tolist())
        drawn = list(data.WeightedRandomSampler([1.0, 0, 3], 50, generator=made()))
        weights = torch.tensor([1.0, 0, 3], dtype=torch.float64)
        self.assertEqual(drawn, torch.multinomial(weights, 50, True, generator=made()).tolist())

    def test_loaders(self) -> None:
        seen = []
        for workers in (0, 2):
            loader = data.DataLoader(
                Numbers(),
                10,
                shuffle=True,
                generator=made(),
                num_workers=workers,
                multiprocessing_context="fork" if workers else None,
            )
            epochs = [torch.cat(list(loader)).tolist() for _ in range(2)]
            self.assertNotEqual(*epochs)
            self.assertTrue(all(sorted(epoch) == list(range(100)) for epoch in epochs))
            seen.append(epochs)
        self.assertEqual(*seen)

    def test_the_default_device(self) -> None:
        for device in DEVICES:
            with torch.device(device):
                loader = data.DataLoader(range(10), generator=made(), sampler=range(10))
                self.assertEqual(len(list(loader)), 10)
                self.assertEqual(torch.rand(3, generator=made()).device.type, device)


class Processes(unittest.TestCase):
    def test_a_child_does_not_make_what_the_parent_makes(self) -> None:
        generator = made()
        loader = data.DataLoader(Numbers(generator), 10, num_workers=1, multiprocessing_context="fork")
        with self.assertRaisesRegex(RuntimeError, "created before the fork"):
            list(loader)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                # This is the documented way. The child has a separate engine.
                other = ours.Generator(generator.source.spawn(1))
                os.write(write, bytes(torch.empty(16, dtype=torch.uint8).random_(generator=other).tolist()))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        found = os.read(read, 16)
        os.close(read)
        os.close(write)
        expected = torch.empty(16, dtype=torch.uint8).random_(generator=made(1))
        self.assertEqual(list(found), expected.tolist())
        self.assertEqual(generator.source.position, 0)

    def test_threads_share_it(self) -> None:
        generator, found = made(), []

        def take(size: int) -> None:
            for _ in range(100):
                found.append(torch.rand(size, dtype=torch.float64, generator=generator).tolist())
                torch.randperm(size, generator=generator)

        threads = [threading.Thread(target=take, args=(size,)) for size in (2, 2, 64, 10_000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(generator.source.position, 100 * (2 * 16 + 2 * 16 + (64 + 10_000) * (8 + 8)))
        whole = warpaes.Generator(KEY).random(generator.source.position // 8).tolist()
        places = {number: at for at, number in enumerate(whole)}
        taken = set[int]()
        for numbers in found:
            at = places[numbers[0]]
            self.assertEqual(numbers, whole[at : at + len(numbers)])
            self.assertTrue(taken.isdisjoint(range(at, at + len(numbers))))
            taken.update(range(at, at + len(numbers)))


class Compiled(unittest.TestCase):
    def test_what_draws_stays_outside(self) -> None:
        @torch.compiler.disable
        def noise(generator: Any) -> Any:
            return torch.randn(8, generator=generator)

        def step(generator: Any) -> Any:
            return noise(generator) * 2 + 1

        compiled, generator, twin = torch.compile(step, backend="aot_eager"), made(), made()
        for _ in range(4):
            self.assertEqual(compiled(generator).tolist(), step(twin).tolist())


class Opacus(unittest.TestCase):
    """Tests of differential privacy. An attacker could subtract noise that is predictable."""

    def setUp(self) -> None:
        try:
            import opacus
        except ModuleNotFoundError:
            self.skipTest("opacus is not installed; a machine with opacus runs this test")
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        self.engine = opacus.PrivacyEngine()

    def train(self, device: str, **arguments: Any) -> tuple[Any, Any, list[Any]]:
        torch.manual_seed(1)
        model = torch.nn.Linear(4, 1).to(device)
        rows = data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
        loader = data.DataLoader(rows, batch_size=8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model, optimizer, loader = self.engine.make_private(
            module=model,
            optimizer=optimizer,
            data_loader=loader,
            noise_multiplier=1.5,
            max_grad_norm=2.0,
            **arguments,
        )
        sizes = []
        for features, wanted in loader:
            sizes.append(len(features))
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(features.to(device)), wanted.to(device)).backward()
            summed = [parameter.summed_grad for parameter in model.parameters()]
            self.assertEqual(summed, [None, None])
            optimizer.clip_and_accumulate()
            summed = [parameter.summed_grad.clone() for parameter in model.parameters()]
            optimizer.add_noise()
            noise = [p.grad - s.view_as(p) for p, s in zip(model.parameters(), summed)]
            optimizer.scale_grad()
            optimizer.original_optimizer.step()
            break
        return sizes, noise, [parameter.shape for parameter in model.parameters()]

    def noise(self, generator: Any, shapes: list[Any], device: str, secure: bool) -> list[Any]:
        made_up = []
        for shape in shapes:
            if secure:  # the first draw is discarded; the noise is half of the sum of four draws
                torch.normal(0.0, 3.0, (1, 1), generator=generator, device=device)
                draws = [torch.normal(0.0, 3.0, shape, generator=generator, device=device) for _ in range(4)]
                made_up.append(sum(draws) / 2)
            else:
                made_up.append(torch.normal(0.0, 3.0, shape, generator=generator, device=device))
        return made_up

    def check(self, found: list[Any], expected: list[Any]) -> None:
        for one, other in zip(found, expected):
            self.assertLess(float((one - other).abs().max()), 1e-5)

    def test_secure_mode(self) -> None:
        """PrivacyEngine(secure_mode=True) imports torchcsprng only for this attribute."""
        for device in DEVICES:
            self.engine.secure_mode, self.engine.secure_rng = True, made()
            sizes, noise, shapes = self.train(device)
            twin = made()
            torch.empty((), dtype=torch.int64).random_(generator=twin)  # the loader draws a seed for its workers
            sampled = int((torch.rand(64, generator=twin) < 1 / 8).sum())
            self.assertEqual(sizes, [sampled])
            self.check(noise, self.noise(twin, shapes, device, secure=True))
            self.assertEqual(self.engine.secure_rng.source.position, twin.source.position)

    def test_a_generator_of_noise(self) -> None:
        for device in DEVICES:
            generator, twin = made(), made()
            _, noise, shapes = self.train(device, noise_generator=generator)
            self.check(noise, self.noise(twin, shapes, device, secure=False))
            self.assertEqual(generator.source.position, twin.source.position)


if __name__ == "__main__":
    unittest.main()
