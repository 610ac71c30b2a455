"""How it can come to another verdict than `ok`: what is raised, with a message that stands in the verdict."""


class Unsupported(Exception):
    """The lab cannot run it, and the message says why; a verdict, not an error."""


class StackFailed(Exception):
    """A stack did not come up, and the message says where."""


class ProofFailed(Exception):
    """What was captured does not show what the stack claims."""


class WorkloadFailed(Exception):
    """A workload ended without a result, and the message says how."""
