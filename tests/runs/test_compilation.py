"""How programs are compiled, and how they are carried from one machine to another."""

import io
import json
import os
import sys
import tarfile
from types import SimpleNamespace

import pytest

from ascpo.cli.cache import described
from ascpo.errors import BadSetting
from ascpo.runs import compilation
from ascpo.runs.compilation import (
    compiled_kernels,
    compiled_programs,
    pack_programs,
    set_up_compilation,
    unpack_programs,
)
from ascpo.runs.files import BadFile

PROGRAMS = {"jit_step-12ab-cache": b"one", "jit_fit-34cd-cache": b"two"}


@pytest.fixture
def directory(tmp_path):
    place = tmp_path / "here"
    place.mkdir()
    for name, content in PROGRAMS.items():
        (place / name).write_bytes(content)
    (place / "jit_step-12ab-atime").write_bytes(b"when it was last used")
    return place


def test_packed_programs_are_unpacked_unchanged_and_do_not_replace_others(directory, tmp_path):
    there, file = tmp_path / "there", tmp_path / "packed" / "programs.tar"
    assert pack_programs(directory, file) == 2
    there.mkdir()
    (there / "jit_fit-34cd-cache").write_bytes(b"compiled here")
    assert unpack_programs(file, there) == 1
    assert {one.name: one.read_bytes() for one in compiled_programs(there)} == {
        **PROGRAMS,
        "jit_fit-34cd-cache": b"compiled here",
    }


def test_warp_kernels_are_packed_too_and_counted_separately(directory, tmp_path):
    kernel = directory / "kernels" / "1.19.0" / "wp_step_1a2b"
    kernel.mkdir(parents=True)
    files = [kernel / f"wp_step_1a2b.{kind}" for kind in ("meta", "sm90.cubin")]
    for file in files:
        file.write_bytes(file.suffix.encode())
    file, there = tmp_path / "programs.tar", tmp_path / "there"
    assert (pack_programs(directory, file), unpack_programs(file, there)) == (2, 2)
    assert [one.relative_to(there) for one in compiled_kernels(there)] == [one.relative_to(directory) for one in files]
    assert [one.read_bytes() for one in compiled_kernels(there)] == [b".meta", b".cubin"]
    assert "holds 2 compiled programs and 1 of Warp's kernels" in described(there)


def test_programs_of_another_processor_are_refused(directory, tmp_path, monkeypatch):
    pack_programs(directory, tmp_path / "programs.tar")
    monkeypatch.setattr(compilation, "machine_kind", lambda: "another")
    with pytest.raises(BadSetting, match="another processor"):
        unpack_programs(tmp_path / "programs.tar", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_programs_of_another_jax_are_refused(directory, tmp_path, monkeypatch):
    pack_programs(directory, tmp_path / "programs.tar")
    monkeypatch.setattr(compilation, "version", lambda _: "0.0.1")
    with pytest.raises(BadSetting, match=r"this is 0\.0\.1"):
        unpack_programs(tmp_path / "programs.tar", tmp_path / "there")


@pytest.mark.parametrize("way", ["../x-cache", "kernels/1/../x-cache", "kernels/1/2/3/x-cache", "kernels/x-cache"])
def test_a_name_that_leads_out_of_the_directory_is_refused(way, tmp_path):
    file = tmp_path / "programs.tar"
    with tarfile.open(file, "w") as archive:
        for name, content in {"index.json": json.dumps({"format": "ascpo programs 1"}), way: "evil"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
    with pytest.raises(BadFile, match="holds no programs"):
        unpack_programs(file, tmp_path / "there")
    assert not list(tmp_path.rglob("x-cache"))


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b broken"])
def test_a_damaged_file_is_refused(content, tmp_path):
    (tmp_path / "programs.tar").write_bytes(content)
    with pytest.raises(BadFile, match="damaged"):
        unpack_programs(tmp_path / "programs.tar", tmp_path / "there")


def test_packing_an_empty_cache_is_an_error(tmp_path):
    with pytest.raises(BadSetting, match="Train first"):
        pack_programs(tmp_path, tmp_path / "programs.tar")


@pytest.mark.parametrize(
    ("given", "in_force"),
    [
        ("", "--xla_gpu_autotune_level=0"),
        ("--xla_dump_to=there", "--xla_dump_to=there --xla_gpu_autotune_level=0"),
        ("--xla_gpu_autotune_level=4", "--xla_gpu_autotune_level=4"),
    ],
)
def test_autotuning_is_off_unless_the_user_turns_it_on(given, in_force, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", given)
    set_up_compilation()
    assert os.environ["XLA_FLAGS"] == in_force


@pytest.mark.parametrize("chosen", [None, "elsewhere"])
def test_warp_stores_kernels_beside_the_programs_unless_the_user_chooses(chosen, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=SimpleNamespace(**no_cache(kept := {}))))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setenv("WARP_CACHE_PATH", chosen or "")
    if chosen is None:
        monkeypatch.delenv("WARP_CACHE_PATH")
    set_up_compilation()
    beside = f"{kept['jax_compilation_cache_dir']}/kernels"
    assert os.environ["WARP_CACHE_PATH"] == (chosen or beside)


def no_cache(kept):
    """JAX's configuration, without a directory for programs."""
    return {"values": {"jax_compilation_cache_dir": None}, "update": kept.__setitem__}
