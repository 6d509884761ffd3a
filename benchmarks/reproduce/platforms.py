#!/usr/bin/env python3
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


NAMES = {"contention-free": contention_free, "dragonfly": dragonfly, "nodes-of-4": nodes_of_4}


def hosts(name, ranks):
    """The host of each rank."""
    if name == "nodes-of-4":
        return [f"node-{r // RANKS_A_NODE}-{r % RANKS_A_NODE}" for r in range(ranks)]
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
