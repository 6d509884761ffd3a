#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""includes.py: every header includes, itself or by papcoll's headers, the standard headers of the
names that it uses. checks/headers.py compiles each header alone, but with all of the standard
library before it, which is five times as fast and hides this one mistake.

includes.py selftest: finds the mistake in texts that have it.
"""

import pathlib
import re
import sys

# One header a name, or several that each do.
NAMES = {
    "algorithm": """all_of any_of binary_search clamp copy copy_n count count_if fill fill_n find find_if
        for_each is_sorted lower_bound make_heap max max_element min min_element minmax none_of
        nth_element partition partition_point pop_heap push_heap remove_if replace reverse rotate sort stable_sort unique upper_bound""",
    "array": "array",
    "atomic": """atomic atomic_ref memory_order memory_order_acq_rel memory_order_acquire memory_order_relaxed
        memory_order_release memory_order_seq_cst""",
    "bit": "bit_cast bit_ceil bit_floor bit_width countr_zero has_single_bit popcount",
    "bitset": "bitset",
    "charconv": "from_chars from_chars_result to_chars",
    "chrono": "chrono",
    "cmath": "ceil exp exp2 fabs floor fmax hypot isfinite ldexp llround log log10 log1p log2 lround pow round sqrt",
    "concepts": """constructible_from convertible_to default_initializable floating_point integral regular same_as signed_integral
        unsigned_integral""",
    "cstddef|cstdint|cstdlib|cstring": "size_t",
    "condition_variable": "condition_variable",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t",
    "cstdint": "intptr_t uintptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t",
    "cctype": "isalnum",
    "cstdio": "FILE fclose ferror fflush fgets fopen fprintf fputs fread fwrite getc rename rewind snprintf sscanf tmpfile",
    "cstdlib": "atoi free getenv malloc realloc strtod strtoul strtoull",
    "cstdlib|cmath": "abs",
    "cstring": "memcmp memcpy memmove memset strchr strspn strerror strncmp strncpy",
    "ctime": "time time_t",
    "deque": "deque",
    "exception": """current_exception exception exception_ptr rethrow_exception terminate
        uncaught_exceptions""",
    "new": "align_val_t bad_alloc bad_array_new_length launder nothrow",
    "initializer_list|string|vector|array|span": "initializer_list",
    "iterator": "next prev",
    "list": "list",
    "limits": "numeric_limits",
    "map": "map",
    "memory": """addressof allocator make_shared make_unique shared_ptr static_pointer_cast unique_ptr
        weak_ptr""",
    "mutex": "lock_guard mutex unique_lock",
    "numeric": "accumulate exclusive_scan iota partial_sum",
    "optional": "nullopt optional",
    "queue": "priority_queue",
    "random": "mt19937_64 uniform_real_distribution",
    "span|string|vector|array|string_view|ranges": "ranges",
    "set": "set",
    "span": "span",
    "stdexcept": "runtime_error",
    "string": "string to_string",
    "string|string_view": "char_traits",
    "string_view": "string_view",
    "filesystem": "filesystem",
    "system_error": "error_code generic_category",
    "system_error|charconv": "errc",
    "thread": "jthread this_thread thread",
    "tuple|utility|array|variant": "get",
    "tuple": "apply tie tuple",
    "type_traits": """add_lvalue_reference_t bool_constant common_type_t conditional conditional_t decay_t integral_constant
        is_arithmetic_v is_array_v is_reference_v remove_const_t remove_cv
        has_unique_object_representations_v is_class_v is_constant_evaluated is_enum_v is_union_v
        is_base_of_v is_const_v is_convertible_v is_copy_assignable_v is_empty_v is_floating_point_v is_function_v
        is_integral_v
        is_lvalue_reference_v is_null_pointer_v is_pointer_v is_same_v is_signed_v
        is_trivially_copyable_v is_trivially_destructible_v is_void_v make_unsigned_t remove_cv_t
        is_nothrow_move_constructible_v remove_cvref_t remove_extent_t
        remove_pointer_t remove_reference_t type_identity type_identity_t void_t""",
    "fstream": "ifstream",
    "functional": "function greater less plus",
    "unordered_map": "unordered_map",
    "utility": """as_const declval exchange forward index_sequence integer_sequence
        make_index_sequence make_integer_sequence move pair swap""",
    "vector": "erase erase_if vector",
}
HEADERS_OF = {name: set(headers.split("|")) for headers, names in NAMES.items() for name in names.split()}

INCLUDE = re.compile(r"^#\s*include <([^>]+)>", re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)
USE = re.compile(r"\bstd::(\w+)")


def read_headers(roots):
    return {
        str(path.relative_to(root)): path.read_text()
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.suffix in (".hpp", ".ipp", ".cuh")
    }


def included_by(name, texts, known):
    """All that a header includes, its own papcoll headers' included."""
    if name in known:
        return known[name]
    known[name] = set()  # of a cycle: as much as is known
    found = set()
    for other in INCLUDE.findall(texts[name]):
        found.add(other)
        if other in texts:
            found |= included_by(other, texts, known)
    known[name] = found
    return found


def problems_in(texts):
    known, found = {}, []
    for name, text in texts.items():
        includes = included_by(name, texts, known)
        if name.endswith(".ipp"):  # part of the header of its name, which comes before it
            continue
        for use in sorted(set(USE.findall(COMMENT.sub("", text)))):
            if use not in HEADERS_OF:
                found.append(f"{name}: std::{use} is not in the table of {pathlib.Path(__file__).name}")
            elif not includes & HEADERS_OF[use]:
                wanted = " or ".join(f"<{h}>" for h in sorted(HEADERS_OF[use]))
                found.append(f"{name}: uses std::{use} and does not include {wanted}")
    return found


def selftest():
    texts = {
        "papcoll/a.hpp": "#include <vector>\nstd::vector<int> v;  // std::map<int, int>\n",
        "papcoll/b.hpp": "#include <papcoll/a.hpp>\nstd::vector<int> w;\n",
        "papcoll/c.hpp": "#include <papcoll/a.hpp>\nstd::string s;\n",
        "papcoll/d.hpp": "std::never_heard_of x;\n",
    }
    found = problems_in(texts)
    assert len(found) == 2, found
    assert found[0].startswith("papcoll/c.hpp: uses std::string"), found
    assert "never_heard_of is not in the table" in found[1], found


def main():
    if sys.argv[1:] == ["selftest"]:
        return selftest()
    texts = read_headers([pathlib.Path(root) for root in ("include", "gpu/include", "analysis/include")])
    found = problems_in(texts)
    print("\n".join(found))
    print(f"{len(texts)} headers, {len(found)} problems")
    return sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
