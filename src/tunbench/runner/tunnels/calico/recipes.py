"""What a Kubernetes cluster is made of, beyond the base image: an add-on of Debian's packages, and tools."""

from tunbench.runner.declare.recipe import Recipe
from tunbench.runner.declare.tunnel import Addon

CONTAINERS = Addon("containers", ("containerd", "runc", "iptables", "ipset", "conntrack"))
"""What runs containers, and what Calico's agent and kubelet call to filter packets."""

KUBERNETES = Recipe(
    name="kubernetes",
    version="1.34.4",
    language="go",
    module="k8s.io/kubernetes",
    # Its parts that are published as modules are released with it, one number of the version less.
    published={"./staging/": "0.34.4"},
    parts={
        name: f"cmd/{name}"
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl")
    },
    oldest="1.24",
    seconds=1440,
    space=5e9,
    stamps=(
        "k8s.io/component-base/version.gitVersion=v1.34.4",
        "k8s.io/component-base/version.gitMajor=1",
        "k8s.io/component-base/version.gitMinor=34",
    ),
)

KINE = Recipe(
    name="kine",
    version="0.17.5",
    language="go",
    module="github.com/k3s-io/kine",
    parts={"kine": "."},
    oldest="1.26.5",
    seconds=680,
    space=2.5e9,
    stamps=("github.com/k3s-io/kine/pkg/version.Version=v0.17.5",),
)
"""What the API server keeps its objects in: SQLite, spoken to as etcd is."""

CNI_PLUGINS = Recipe(
    name="cni-plugins",
    version="1.9.1",
    language="go",
    module="github.com/containernetworking/plugins",
    # The one that containerd asks for besides Calico's own.
    parts={"loopback": "plugins/main/loopback"},
    oldest="1.24.2",
    seconds=34,
    space=300e6,
)

PROJECT_CALICO = "github.com/projectcalico/calico"

CALICO = Recipe(
    name="calico",
    version="3.28.5",
    language="go",
    module=PROJECT_CALICO,
    # The one version that the module proxy has, of the commit that became this release.
    registered="1.11.0-cni-plugin.0.20250813170300-a0db560f0520",
    # The last one of the same branch.
    published={"./api": "0.0.0-20240708202104-e3f70b269c2c"},
    parts={"calico-node": "node/cmd/calico-node", "calico": "cni-plugin/cmd/calico"},
    oldest="1.23.8",
    seconds=695,
    space=3e9,
    stamps=(
        "main.VERSION=v3.28.5",
        f"{PROJECT_CALICO}/node/buildinfo.GitVersion=v3.28.5",
        f"{PROJECT_CALICO}/node/pkg/startup.VERSION=v3.28.5",
    ),
)

RECIPES = (KUBERNETES, KINE, CNI_PLUGINS, CALICO)

ADDONS = (CONTAINERS,)
