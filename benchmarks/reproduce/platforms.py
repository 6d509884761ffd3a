#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The platforms of the simulations, as files for SimGrid. Hosts compute at SPEED, which only tells
SimGrid how long a charged second is. Rank r runs on host r, or, of nodes with several ranks, the
ranks of a node are neighbours."""

import argparse
import pathlib

SPEED = "100Gf"

HEAD = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="world" routing="Full">
"""
TAIL = "</zone>\n</platform>\n"
RANKS_A_NODE = 4
HOSTS = 1024  # of the platforms that do not grow with the ranks


def contention_free(_ranks):
    """1024 hosts, each with a link of its own in and out: a message takes 1.5 us and 1/16 ns a
    byte (SUARA's alpha and beta), whatever else is under way elsewhere."""
    return f"""<cluster id="c" prefix="node-" suffix="" radical="0-1023" speed="{SPEED}"
 bw="16GBps" lat="750ns"/>
"""


def with_overheads(_ranks):
    """1024 hosts, each with a link of its own in and out: a message takes 1.5 us and 1/16 ns a
    byte, and of the 1.5 us the processor of its sender 0.15 and that of its receiver 0.15: for each
    message that a rank sends and receives in turn it is busy for the 0.3 us that papcoll's
    thresholds call the gap."""
    return f"""<cluster id="c" prefix="node-" suffix="" radical="0-1023" speed="{SPEED}"
 bw="16GBps" lat="600ns"/>
"""


def thin_fat_tree(_ranks):
    """256 hosts, 16 on a leaf switch with 8 uplinks, one to each of 8 switches above: 16 GB/s and
    0.3 us a link, which all under way share, and processors that are as busy with messages as those
    of with-overheads."""
    return f"""<cluster id="ft" prefix="node-" suffix="" radical="0-255" speed="{SPEED}"
 bw="16GBps" lat="300ns" topology="FAT_TREE" topo_parameters="2;16,16;1,8;1,1"/>
"""


def dragonfly(_ranks):
    """1024 hosts: 4 groups of 4 chassis of 16 routers with 4 hosts each, 0.3 us and 16 GB/s a
    link. The links within a chassis, within a group and between groups are 4, 6 and 16 wide (a
    router's 4 hosts share 4), and messages may meet on them."""
    return f"""<cluster id="df" prefix="node-" suffix="" radical="0-1023" speed="{SPEED}"
 bw="16GBps" lat="300ns" loopback_bw="16GBps" loopback_lat="100ns"
 topology="DRAGONFLY" topo_parameters="4,16;4,6;16,4;4"/>
"""


def nodes_of_4(ranks):
    """Nodes of 4 ranks: within a node 0.4 us and 10 GB/s a rank, of which all four together have
    no more than 20; between nodes 1.5 us and 12.5 GB/s a node, which its ranks share."""
    nodes = -(-ranks // RANKS_A_NODE)
    text = []
    for n in range(nodes):
        names = [f"node-{n}-{i}" for i in range(RANKS_A_NODE)]
        text.append(f'<zone id="node-{n}" routing="Full">\n')
        text += [f'<host id="{h}" speed="{SPEED}"/>\n' for h in names]
        text.append(f'<router id="router-{n}"/>\n')
        text += [_link(f"link-{h}", "10GBps", "200ns") for h in names]
        text.append(f'<link id="memory-{n}" bandwidth="20GBps" latency="0"/>\n')
        for a in names:
            text.append(_route("route", a, f"router-{n}", f"link-{a} UP"))
            text.append(_route("route", f"router-{n}", a, f"link-{a} DOWN"))
            text += [_route("route", a, b, f"link-{a} UP", f"memory-{n}", f"link-{b} DOWN")
                     for b in names if a != b]
        text.append("</zone>\n")
    text += [_link(f"port-{n}", "12.5GBps", "550ns") for n in range(nodes)]
    for a in range(nodes):
        text += [_route("zoneRoute", f"node-{a}", f"node-{b}", f"port-{a} UP", f"port-{b} DOWN",
                        gateways=f' gw_src="router-{a}" gw_dst="router-{b}"')
                 for b in range(nodes) if a != b]
    return "".join(text)


def _link(name, bandwidth, latency):
    return (f'<link id="{name}" bandwidth="{bandwidth}" latency="{latency}"'
            ' sharing_policy="SPLITDUPLEX"/>\n')


def _route(kind, source, target, *links, gateways=""):
    """`links`: a name, and for links with two directions UP or DOWN."""
    named = [link.split() for link in links]
    contents = "".join(f'<link_ctn id="{n[0]}"' + (f' direction="{n[1]}"' if n[1:] else "") + "/>"
                       for n in named)
    return (f'<{kind} src="{source}" dst="{target}"{gateways} symmetrical="NO">{contents}'
            f"</{kind}>\n")


# Clusters, whose ranks are placed in several ways: what papcoll-bench is told of them is in
# machine_options().
PACKAGES = 2  # of a node
CORES = 16  # of a package
LEAF = 16  # nodes on a leaf switch
UPLINKS = 8  # of a leaf switch, each as wide as a node's
DRAGONFLY_NODES = 64
PLACEMENTS = ("by-core", "by-node", "by-socket", "random")
SEED = 1  # of the random placement
WORD = (1 << 64) - 1


def fat_tree(ranks):
    """Nodes of 2 packages of 16 cores, 16 nodes on a leaf switch with 8 uplinks to one switch
    above: 12.5 GB/s a link, which all under way share, and 0.3 us; of a node's ranks a pair has 8
    GB/s, 0.1 us within a package and 0.2 between packages, which have 40 GB/s together each
    way."""
    text = []
    nodes = _nodes(ranks)
    for n in range(nodes):
        hosts_of_node = [f"node-{n}-{p}" for p in range(PACKAGES)]
        text.append(f'<zone id="node-{n}" routing="Full">\n')
        text += [f'<host id="{h}" speed="{SPEED}" core="{CORES}"/>\n' for h in hosts_of_node]
        text.append(f'<router id="router-{n}"/>\n')
        text += [_wide_link(f"copy-{n}", "8GBps", "100ns"), _wide_link(f"bus-{n}", "1TBps", "0"),
                 _link(f"between-{n}", "40GBps", "100ns")]
        for i, a in enumerate(hosts_of_node):
            text.append(_route("route", a, a, f"copy-{n}"))
            text.append(_route("route", a, f"router-{n}", f"bus-{n}"))
            text.append(_route("route", f"router-{n}", a, f"bus-{n}"))
            text += [_route("route", a, b, f"copy-{n}", f"between-{n} {'UP' if i < j else 'DOWN'}")
                     for j, b in enumerate(hosts_of_node) if i != j]
        text.append("</zone>\n")
    text += [_link(f"port-{n}", "12.5GBps", "300ns") for n in range(nodes)]
    text += [_link(f"leaf-{s}", f"{UPLINKS * 12.5:g}GBps", "300ns")
             for s in range(-(-nodes // LEAF))]
    for a in range(nodes):
        for b in range(nodes):
            if a == b:
                continue
            above = [f"leaf-{a // LEAF} UP", f"leaf-{b // LEAF} DOWN"] if a // LEAF != b // LEAF \
                else []
            text.append(_route("zoneRoute", f"node-{a}", f"node-{b}", f"port-{a} UP", *above,
                               f"port-{b} DOWN",
                               gateways=f' gw_src="router-{a}" gw_dst="router-{b}"'))
    return "".join(text)


def small_dragonfly(ranks):
    """64 nodes, among which all ranks are divided: 4 groups of 2 chassis of 4 routers with 2 nodes
    each, one link of 12.5 GB/s and 0.3 us between any two that are joined, on which messages meet;
    of a node's ranks a pair has 8 GB/s and 0.1 us."""
    cores = shape_of("dragonfly", ranks)["cores"]
    return f"""<cluster id="df" prefix="node-" suffix="" radical="0-{DRAGONFLY_NODES - 1}"
 speed="{SPEED}" core="{cores}" bw="12.5GBps" lat="300ns" loopback_bw="8GBps" loopback_lat="100ns"
 topology="DRAGONFLY" topo_parameters="4,1;2,1;4,1;2"/>
"""


def shape_of(kind, ranks):
    """What --machine of papcoll-bench says of a cluster for so many ranks."""
    if kind == "dragonfly":
        return {"nodes": DRAGONFLY_NODES, "cores": -(-ranks // DRAGONFLY_NODES)}
    return {"nodes": _nodes(ranks), "packages": PACKAGES, "cores": CORES, "leaf": LEAF,
            "uplinks": UPLINKS}


def _nodes(ranks):
    return -(-ranks // (PACKAGES * CORES))


def _wide_link(name, bandwidth, latency):
    """One of which each message has the whole bandwidth."""
    return (f'<link id="{name}" bandwidth="{bandwidth}" latency="{latency}"'
            ' sharing_policy="FATPIPE"/>\n')


def cores_of(placement, ranks, shape):
    """The core that each rank is on, counted over all nodes: as
    tools/papcoll/tools/options/placements.hpp."""
    cores = list(range(ranks))
    in_package = shape["cores"]
    on_node = shape.get("packages", 1) * in_package
    if placement == "by-node":
        return [r % shape["nodes"] * on_node + r // shape["nodes"] for r in cores]
    if placement == "by-socket":
        packages = shape.get("packages", 1)
        return [r - r % on_node + r % on_node % packages * in_package + r % on_node // packages
                for r in cores]
    if placement == "random":
        state = SEED
        for i in range(ranks, 1, -1):
            state, number = _random(state)
            cores[i - 1], cores[number % i] = cores[number % i], cores[i - 1]
    return cores


def _random(state):
    """SplitMix64: the state and the number that follow."""
    state = (state + 0x9e3779b97f4a7c15) & WORD
    z = state
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & WORD
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & WORD
    return state, z ^ (z >> 31)


def cluster_of(name):
    """The kind of cluster and the placement that a platform's name says, or None."""
    for kind in CLUSTERS:
        if name.removeprefix(kind + "-") in PLACEMENTS:
            return kind, name.removeprefix(kind + "-")
    return None


def machine_options(name, ranks):
    """What tells papcoll-bench of a cluster and of where its ranks are."""
    kind, placement = cluster_of(name)
    shape = ",".join(f"{key}={value}" for key, value in shape_of(kind, ranks).items())
    routes = ("--routes",) if kind == "dragonfly" else ()
    return ("--machine", shape, "--placement", placement, "--seed", str(SEED), *routes)


CLUSTERS = {"fat-tree": fat_tree, "dragonfly": small_dragonfly}
NAMES = {"contention-free": contention_free, "with-overheads": with_overheads,
         "thin-fat-tree": thin_fat_tree, "dragonfly": dragonfly, "nodes-of-4": nodes_of_4,
         **{f"{kind}-{p}": platform for kind, platform in CLUSTERS.items() for p in PLACEMENTS}}


# SimGrid's, of a platform: what a message costs the processors of sender and receiver, of any size.
OVERHEADS = tuple(f"smpi/{of}:0:1.5e-7:0" for of in ("os", "ois", "or"))
SETTINGS = {"with-overheads": OVERHEADS, "thin-fat-tree": OVERHEADS}


def hosts(name, ranks):
    """The host of each rank."""
    if name == "nodes-of-4":
        return [f"node-{r // RANKS_A_NODE}-{r % RANKS_A_NODE}" for r in range(ranks)]
    cluster = cluster_of(name)
    if cluster:
        kind, placement = cluster
        shape = shape_of(kind, ranks)
        cores = cores_of(placement, ranks, shape)
        if kind == "dragonfly":
            return [f"node-{c // shape['cores']}" for c in cores]
        return [f"node-{c // (PACKAGES * CORES)}-{c // CORES % PACKAGES}" for c in cores]
    return [f"node-{r}" for r in range(ranks)]


def write(name, ranks, folder):
    """Writes platform and host list; returns the two files' names."""
    platform = pathlib.Path(folder) / f"{name}.xml"
    platform.write_text(HEAD + NAMES[name](ranks) + TAIL, encoding="utf-8")
    listed = pathlib.Path(folder) / f"{name}-{ranks}.hosts"
    listed.write_text("".join(h + "\n" for h in hosts(name, ranks)), encoding="utf-8")
    return str(platform), str(listed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platform", choices=NAMES)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--folder", default=".")
    arguments = parser.parse_args()
    print(*write(arguments.platform, arguments.ranks, arguments.folder), sep="\n")


if __name__ == "__main__":
    main()
