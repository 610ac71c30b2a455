"""The warnings that results can have: a closed set, each with what it means and what to do next."""

from enum import StrEnum


class WarningKind(StrEnum):
    """A kind of warning, by the name that the journal and a report give it, in the order of a report.

    `meaning` says what was found, and `mend` what a reader can do.
    """

    meaning: str
    mend: str

    def __new__(cls, name: str, meaning: str, mend: str) -> "WarningKind":
        """A member is its name."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.meaning, member.mend = meaning, mend
        return member

    OTHER_LOAD = (
        "other-load",
        "other programs kept the processors busy before the run began",
        "End them (`top` shows them), or run the plan in the vm lab on the virtual clock, which they cannot disturb.",
    )
    HIDDEN_LOAD = (
        "hidden-load",
        "this is a container, and the processes of others on the same machine are not seen",
        "Run it outside of the container, on the machine itself; here no trial is marked that others disturbed.",
    )
    FREQUENCY_SCALING = (
        "frequency-scaling",
        "the processors change their frequency with their load",
        "Fix it with `sudo cpupower frequency-set -g performance`.",
    )
    TURBO = (
        "turbo",
        "the processors go beyond their nominal frequency as long as heat and power allow it",
        "Switch that off as root: `echo 1 >/sys/devices/system/cpu/intel_pstate/no_turbo`, or with another driver "
        "`echo 0 >/sys/devices/system/cpu/cpufreq/boost`.",
    )
    STOLEN_TIME = (
        "stolen-time",
        "the hypervisor gives processor time of this machine to others",
        "Take a machine of your own, or a virtual one with dedicated cores; else raise repeats, and leave noisy "
        "trials out of what you conclude.",
    )
    VIRTUALISED = (
        "virtualised",
        "this machine is itself a virtual one",
        "Read its numbers as those of this virtual machine; for those of the hardware, run the plan on it.",
    )
    CLOCKSOURCE = (
        "clocksource",
        "the kernel's clock is not the processor's time stamp counter, and reading it takes longer",
        "Boot with `tsc=reliable` where the processor has a constant one; else do not read differences below 1 µs.",
    )
    CONGESTION_CONTROL = (
        "congestion-control",
        "TCP's default congestion control is not the usual one, and nodes have it too",
        'Name one in the plan: `tuning = { name = "cubic", congestion = "cubic" }`.',
    )
    SWAPPING = (
        "swapping",
        "a part of memory is swapped out, and what is needed again waits for a disk",
        "Switch swap off (`sudo swapoff -a`), or end what takes the memory.",
    )
    NOT_PINNED = (
        "not-pinned",
        "nodes share cores, and the kernel moves them from one to another",
        "Take a machine with more cores; until then compare stacks with each other, and not with separate hosts.",
    )
    NOISY = (
        "noisy",
        "other processes, a hypervisor or heat disturbed a trial while it was measured",
        "Its numbers count like any other's: look at how far they lie apart from those of quiet repeats. Then let the"
        " machine come to rest, and run the plan again; where a hypervisor moves the cores, raise repeats, or take a "
        "machine of your own.",
    )
    UNEQUAL = (
        "unequal",
        "a trial came out otherwise when it was executed again, on a clock whose results are equal",
        "Run the plan anew with no more --workers than cores, and compare `tunbench digest` of both runs; where they "
        "differ too, docs/virtual-time.md says what equal results depend on.",
    )
    FRESH_BOOT = (
        "fresh-boot",
        "a shard booted afresh, or brought its stack up anew, because the template from which it should have started "
        "could not be made or loaded",
        "Its numbers are those that the template gives; it took longer. `tunbench lab clean` removes templates, and the"
        " next run makes them anew.",
    )
    TOO_FEW_TRIALS = (
        "too-few-trials",
        "too few trials for a 95 % interval",
        "Raise repeats to at least 6 in the plan, better to 10.",
    )
    BIMODAL = (
        "bimodal",
        "the trials of a cell fall into two groups, and the median says little of either",
        "Look at the trials of both groups: another path, another processor frequency, a retry. Then measure each "
        "alone, or raise repeats and report both.",
    )
    DRIFT = (
        "drift",
        "what was measured rises or falls from repeat to repeat",
        "Let the machine come to rest: warm, nothing else running, a fixed processor frequency. Or run the plan in "
        "the vm lab on the virtual clock, where repeats know nothing of each other.",
    )
    SATURATED_MACHINE = (
        "saturated-machine",
        "the machine was busy all the time: the throughput is what its processor can do, not what the path can carry",
        "Read it as the cost of the stack, not as the speed of a link. For the path, give the link or the workload a "
        "rate that the machine can serve, or take a faster machine.",
    )
    COSTLY_PROBE = (
        "costly-probe",
        "the probes took a noticeable part of the time that was measured",
        "Make the workload longer, or name fewer probes in the plan's key probes.",
    )
    GSO_AGGREGATES = (
        "gso-aggregates",
        "netem judged bundles of up to 64 KiB as one packet each, where a stack hands them over whole; of others it "
        "judged every packet",
        "Where the link cuts none, name one that does, such as wire; where netem sits above the cut, write the "
        "placement router. Before that, compare no stack with another.",
    )
    NO_BASE_ROUND_TRIP = (
        "no-base-round-trip",
        "delays jitter where a round trip takes next to nothing, so that TCP takes every overtaking for a loss",
        "Give the link a delay: cards, cable and switch take some, and every shipped link has 50 to 150 µs.",
    )
    UNSPREAD_BURSTS = (
        "unspread-bursts",
        "a fast machine behind a link without a rate: bursts that no link spreads overflow the socket of a daemon",
        "Name the link that stands beside it, or another one with a rate.",
    )
    RATE_NOT_SERVED = (
        "rate-not-served",
        "the model machine cannot carry what the link could, so that its processor decides and not the link",
        "Take a faster machine or a slower link; where it is this machine that you mean, read its numbers as what its "
        "processor carries.",
    )
    NO_SHA_INSTRUCTIONS = (
        "no-sha-instructions",
        "a stack hashes each packet by SHA, for which recent processors have instructions and QEMU before 8.2 has none",
        "Do not read it as slower than a stack without such a hash by as much as it is here: compare both in the "
        "native lab.",
    )
    QUEUE_DROPS = (
        "queue-drops",
        "packets were dropped where they enter a link, because its queue was full: this is no loss of the network",
        "Nothing is wrong where TCP filled the queue of the slowest link, as it does with any. Where datagrams were "
        "lost so, send less than the rate, or give the link another queue.",
    )
    NETEM_LIMIT = (
        "netem-limit",
        "netem dropped packets because it had no room for more",
        "With the placement endpoints netem is the queue of the interface: give the link another queue. With another "
        "placement it holds 10 Gbit/s × the longest delay: lower the load of the workload.",
    )
    FRAGMENTED = (
        "fragmented",
        "packets left a node in fragments: each has headers of its own, and where one is lost all of them are",
        "Give the stack a smaller MTU (`tunbench overhead` says what fits), or clamp the MSS.",
    )
    LAYER_DROPS = (
        "layer-drops",
        "a layer of the stack dropped packets that the network had delivered, or could not send them",
        "The reason stands beside it: a larger replay window where the network reorders (`ipsec:replay=1024`, "
        "`openvpn:replay-window=1024`, `macsec:window=1024`), other timers where SAs had ended, larger buffers where "
        "the socket of a daemon was full (net.core.rmem_default in a tuning).",
    )
    SOCKET_DROPS = (
        "socket-drops",
        "datagrams found the socket of a workload's own program full: it did not read as fast as they came",
        "They are no loss of the network or of the stack. Send less, give sockets a larger buffer "
        "(net.core.rmem_default in a tuning), or take a faster machine.",
    )
    LINK_DIFFERS = (
        "link-differs",
        "the kernel made something else of a link than the plan asked for",
        "Change the link to what this kernel can do, or run the plan in the vm lab.",
    )
    NETEM_DIFFERS = (
        "netem-differs",
        "the kernel installed another impairment than the profile asked for",
        "Change the profile to what this kernel can install, or run the plan in the vm lab.",
    )
    TUNING_DIFFERS = (
        "tuning-differs",
        "the kernel made something else of a setting than the tuning asked for",
        "Change the tuning to the value that this kernel takes, or run the plan in the vm lab.",
    )
    LEFT_BEHIND = (
        "left-behind",
        "something of a stack was still there after it had been taken down",
        "Let the tunnel's method `down` take it away.",
    )
    RELAYED = (
        "relayed",
        "packets of a workload went through a node that is neither end",
        "Read its numbers as those of a relayed path; the logs of the endpoints say why they lost the direct one.",
    )
    PATH_CHANGED = (
        "path-changed",
        "packets of a workload took another path behind a second that is named, or several at once",
        "Do not read its numbers as those of one path: look at the samples before and behind that second, or demand a "
        "path with the tunnel's option path.",
    )
    OUTSIDE = (
        "outside",
        "something tried to send packets out of the lab",
        "Find the program by the packets, and tell it to stay inside: no updates, no telemetry.",
    )
