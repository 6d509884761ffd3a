#!/usr/bin/env python3
"""doxygen_filter.py FILE: the header as Doxygen reads it, with the same number of lines.

The inline namespace of the version is left out: nobody writes its name. Members whose meaning a concept
fixes for all types (`name`, `emit`, …) get one comment here, unless they have one of their own.
"""

import re
import sys

# What a line declares, and the comment it gets.
MEMBERS = [
    (r"using policy_kind = ", "Which of the four kinds of policy this is."),
    (r"static constexpr std::string_view name = ", "The name in listings, and in names of algorithms."),
    (r"static constexpr std::string_view sentence =", "One sentence about it, for listings."),
    (r"static constexpr bool commutative_only =",
     "True if operators must commute, since contributions are combined out of rank order."),
    (r"bool commutative_only\(\) const",
     "True if operators must commute, since contributions are combined out of rank order."),
    (r"static constexpr unsigned needs =", "Capability bits that it needs of other policies."),
    (r"static constexpr unsigned offers =", "Capability bits that it offers to a schedule."),
    (r"static constexpr NumericalContract contract =", "The strongest contract that it keeps."),
    (r"static constexpr bool serves\(Collective", "Returns true if it serves the collective."),
    (r"static constexpr std::array parameters", "Its parameters, for listings."),
    (r"std::string arguments\(\) const", "Returns its parameters as text, as after the colon of a name."),
    (r"static \w+ parse\(std::string_view",
     "Reads parameters as after the colon of a name; throws argument_error."),
    (r"void emit\((\w+)( \w+)?, auto& \w+\) const", r"Writes one position's steps of this collective."),
    (r"Any\w+ at_run_time\(\) const", "The schedule with parts that are known at run time."),
    (r"(static )?(constexpr )?MappingHint mapping_hint(\(Collective| =)",
     "The order in which its positions are placed along a machine."),
    (r"(static )?void traffic\(Collective", "Adds who sends how much to whom, in shares of the vector."),
    (r"std::size_t segment\(int ", "Elements of a block in which it pipelines; 0 for one block."),
    (r"friend (constexpr )?bool operator==\(", "Returns true if the parameters are equal."),
    (r"using LaneOp = ", "The operator on the lanes of a vector register."),
    (r"static constexpr bool commutative = ", "True if the order of its operands does not matter."),
    (r"static constexpr bool commutative_for = ", "As commutative, if it depends on the element type."),
    (r"static constexpr const char\* name = ", "The operator's name, for command lines."),
    (r"constexpr (auto|T|ValueIndex<T, Index>) operator\(\)\(const ",
     "Combines two elements, that of the lower ranks first."),
    (r"void observe\(History& h, double seconds\) const", "Records an arrival."),
    (r"double predict\(const History& h\) const", "Returns the predicted next arrival, in seconds."),
    (r"static AnyPredictor predictor\(\)", "Returns the predictor, without its type."),
    (r"static constexpr bool own_parts_only = ",
     "Its alltoall asks for no parts but those that the position itself sends and receives."),
    (r"static constexpr NumericalContract value = ", "The contract as a value."),
    (r"StepCost cost\{\};", "What a step is taken to cost where waiting is weighed."),
    (r"static constexpr detail::HeapTrees trees\(", "The two trees among so many positions."),
    (r"using default_schedule = ", "The schedule that it implies where none is named."),
    (r"inline double (\w+?)_(allgather|allreduce|barrier|bcast|gather|reduce|reduce_scatter|scatter)\(",
     r"The seconds that \4 takes by the schedule \3."),
    (r"static constexpr bool wakes_receivers = ", "True if a message wakes a sleeping receiver."),
    (r"static std::string unavailable\(const TeamEnvironment",
     "Returns why it cannot serve a team; empty if it can."),
    (r"static std::unique_ptr<Endpoint> connect\(",
     "Creates this rank's endpoint; called by all ranks of a team at once."),
    (r"using Context = ", "What arrival-driven algorithms run on over it."),
    (r"static std::unique_ptr<RemoteAtomics> open_atomics\(",
     "Makes this rank's view of n words on each rank; called by all ranks of a team at once."),
]
# Members of this header, and what all of them do.
CONTEXT = ("/forwarding_context.hpp", r"[\w:*&<> ]+ \w+\([^()]*(\)|,$)",
           "As the concept CallContext says, by papcoll's own call context.")
MEMBERS = [(re.compile(rf"^(\s*)((?:template <.*> )?{pattern})"), text) for pattern, text in MEMBERS]

CONTEXT_MEMBER = re.compile(rf"^(  )((?! |explicit|return|static)(?:{CONTEXT[1]}))")
# A collective's three functions in erased.hpp.
ERASED = re.compile(r"^PAPCOLL_ERASED\((\w+), \w+,\s*(\([^()]*\)).*?\)$", re.DOTALL | re.MULTILINE)
# A collective's two functions in gpu.hpp.
GPU = re.compile(r"^PAPCOLL_GPU\((\w+), \w+,\s*(\([^()]*\)).*?\)$", re.DOTALL | re.MULTILINE)
NAMESPACE = re.compile(r"^(namespace papcoll)::inline PAPCOLL_ABI(.*)$")


def erased(match):
    name, parameters = match.groups()
    flat = " ".join(parameters.split())
    text = (f"void {name}{parameters}; /** As {name}(), non-blocking. */ Request i{name}{flat}; "
            f"/** As {name}(), persistent. */ Persistent {name}_init{flat};")
    return text + "\n" * (match.group().count("\n") - text.count("\n"))


def gpu(match):
    name, parameters = match.groups()
    flat = " ".join(parameters.split())
    operator = ", class Op = Sum" if "Op&" in parameters else ""
    template = f"template <class... Ps, Team C, class T, std::integral N{operator}>"
    text = f"{template} void {name}{parameters}; /** Non-blocking. */ {template} Request i{name}{flat};"
    return text + "\n" * (match.group().count("\n") - text.count("\n"))


def filtered(path, lines):
    has_comment = False
    members = [*MEMBERS, (CONTEXT_MEMBER, CONTEXT[2])] if path.endswith(CONTEXT[0]) else MEMBERS
    for line in lines:
        line = NAMESPACE.sub(r"\1\2", line)
        if not has_comment and "///<" not in line:
            for pattern, text in members:
                if pattern.match(line):
                    line = pattern.sub(rf"\1/** {text} */ \2", line)
                    break
        if not re.match(r"\s*template <.*>$", line):
            has_comment = line.lstrip().startswith("///")
        yield line


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        text = GPU.sub(gpu, ERASED.sub(erased, file.read()))
    sys.stdout.write("\n".join(filtered(sys.argv[1], text.split("\n"))))
