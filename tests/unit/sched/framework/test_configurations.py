"""Whole configuration files: what kube-scheduler 1.37 accepts loads, what it refuses is refused with the path."""

from typing import Any

import pytest
import yaml
from builders import Bench

from apportion.base import ConfigError
from apportion.sched.framework.config import SchedulerConfig, read_config

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
# what kube-scheduler writes with --write-config-to, with all defaults filled in
DEFAULTS = """
clientConnection: {acceptContentTypes: "", burst: 100, contentType: application/vnd.kubernetes.protobuf,
  kubeconfig: "", qps: 50}
delayCacheUntilActive: false
enableContentionProfiling: true
enableProfiling: true
extenders: null
leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, resourceLock: leases,
  resourceName: kube-scheduler, resourceNamespace: kube-system, retryPeriod: 2s}
parallelism: 16
percentageOfNodesToScore: 0
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 10
profiles:
- schedulerName: default-scheduler
  percentageOfNodesToScore: null
  plugins:
    multiPoint:
      disabled: null
      enabled:
      - {name: SchedulingGates, weight: 0}
      - {name: PrioritySort, weight: 0}
      - {name: NodeName, weight: 0}
      - {name: NodeUnschedulable, weight: 0}
      - {name: TaintToleration, weight: 3}
      - {name: NodeAffinity, weight: 2}
      - {name: NodePorts, weight: 0}
      - {name: NodeResourcesFit, weight: 1}
      - {name: VolumeRestrictions, weight: 0}
      - {name: NodeVolumeLimits, weight: 0}
      - {name: VolumeBinding, weight: 0}
      - {name: VolumeZone, weight: 0}
      - {name: PodTopologySpread, weight: 2}
      - {name: InterPodAffinity, weight: 2}
      - {name: DynamicResources, weight: 2}
      - {name: DefaultPreemption, weight: 0}
      - {name: NodeResourcesBalancedAllocation, weight: 1}
      - {name: ImageLocality, weight: 1}
      - {name: DefaultBinder, weight: 0}
      - {name: NodeDeclaredFeatures, weight: 0}
    preEnqueue: {}
    queueSort: {}
    preFilter: {}
    filter: {}
    postFilter: {}
    preScore: {}
    score: {}
    reserve: {}
    permit: {}
    preBind: {}
    bind: {}
    postBind: {}
    placementGenerate: {}
    placementScore: {}
    podGroupPostFilter: {}
  pluginConfig:
  - name: DefaultPreemption
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: DefaultPreemptionArgs,
      minCandidateNodesAbsolute: 100, minCandidateNodesPercentage: 10}
  - name: DynamicResources
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: DynamicResourcesArgs,
      filterTimeout: 10s, bindingTimeout: 10m0s}
  - name: InterPodAffinity
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs, hardPodAffinityWeight: 1,
      ignorePreferredTermsOfExistingPods: false}
  - name: NodeAffinity
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeAffinityArgs}
  - name: NodeResourcesBalancedAllocation
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesBalancedAllocationArgs,
      resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}
  - name: NodeResourcesFit
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesFitArgs, ignoredResourceGroups: null,
      scoringStrategy: {requestedToCapacityRatio: null, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}],
        type: LeastAllocated}}
  - name: PodTopologySpread
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: PodTopologySpreadArgs, defaultingType: System}
  - name: VolumeBinding
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: VolumeBindingArgs, bindTimeoutSeconds: 600,
      shape: [{score: 10, utilization: 0}, {score: 0, utilization: 100}]}
"""
ACCEPTED = {
    "defaults": DEFAULTS,
    "nothing": "",
    "no profiles": "profiles: []",
    "no leader election": "leaderElection: {leaderElect: false, resourceLock: endpoints, leaseDuration: 0s}",
    "a client": "clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}",
    "few at once": "parallelism: 1\npercentageOfNodesToScore: 100",
    "backoff": "podInitialBackoffSeconds: 10\npodMaxBackoffSeconds: 10",
    "bin packing": """
profiles:
- schedulerName: packing
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [example.com/foo]
      ignoredResourceGroups: [example.org]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu}, {name: example.com/foo, weight: 5}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
""",
    "spread by list": """
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
""",
    "two schedulers": """
profiles:
- schedulerName: default-scheduler
- schedulerName: no-scoring-scheduler
  percentageOfNodesToScore: 20
  plugins:
    preScore: {disabled: [{name: '*'}]}
    score: {disabled: [{name: '*'}]}
""",
    "names that were": "profiles: [{plugins: {multiPoint: {disabled: [{name: EBSLimits}, {name: SomethingElse}]}}}]",
    "arguments of others": "profiles: [{pluginConfig: [{name: Coscheduling, args: {permitWaitingTimeSeconds: 10}}]}]",
    "gangs, whose gate is off": "profiles: [{plugins: {multiPoint: {enabled: [{name: GangScheduling}]}}}]",
    "queue sort twice the same": """
profiles:
- {schedulerName: a, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}
- {schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}
""",
    "added affinity": """
profiles:
- pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [a, b]}]}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 5, preference: {matchExpressions: [{key: disk, operator: Exists}]}}
""",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_files_that_kubernetes_accepts_load(name: str) -> None:
    config = read_config(yaml.safe_load(HEAD + ACCEPTED[name]), "config.yaml")
    assert Bench(config).scheduler.profiles


def test_the_written_out_defaults_are_the_defaults() -> None:
    written, silent = (
        Bench(config).scheduler.profiles["default-scheduler"]
        for config in (read_config(yaml.safe_load(HEAD + DEFAULTS), "config.yaml"), SchedulerConfig())
    )
    assert [p.name for p in written.all_plugins()] == [p.name for p in silent.all_plugins()]
    assert [w for _, w in written.scores] == [w for _, w in silent.scores]


def args(plugin: str, text: str) -> str:
    """Return a file that gives arguments to a plugin."""
    return f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {text}}}]}}]"


ARGS = "profiles[0].pluginConfig[0].args"
STRATEGY = f"{ARGS}.scoringStrategy"
CONSTRAINT = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule"
REFUSED = [
    ("profile: []", "profile: unknown field `profile`"),
    ("healthzBindAddress: 0.0.0.0:1", "healthzBindAddress: unknown field"),
    ("profiles: [{plugin: {}}]", "profiles[0].plugin: unknown field"),
    ("profiles: [{plugins: {filters: {}}}]", "profiles[0].plugins.filters: unknown field"),
    ("profiles: [{plugins: {filter: {enabled: [{names: x}]}}}]", "profiles[0].plugins.filter.enabled[0]"),
    ("parallelism: many", "parallelism: Expected `int`"),
    ("parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"),
    ("percentageOfNodesToScore: 101", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
    ("profiles: [{percentageOfNodesToScore: -1}]", "profiles[0].percentageOfNodesToScore: Invalid value: -1"),
    ("podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
    ("podMaxBackoffSeconds: 0", "podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to"),
    ("clientConnection: {burst: -1}", "clientConnection.burst: Invalid value: -1: must be non-negative"),
    ("leaderElection: {leaseDuration: 5s}", "leaderElection.leaseDuration: Invalid value"),
    ("leaderElection: {retryPeriod: soon}", "leaderElection.retryPeriod: Invalid value"),
    ("leaderElection: {resourceLock: endpoints}", 'resourceLock value must be "leases"'),
    ("profiles: [{schedulerName: ''}]", "profiles[0].schedulerName: Required value"),
    ("profiles: [{schedulerName: a}, {schedulerName: a}]", 'profiles[1].schedulerName: Duplicate value: "a"'),
    ("profiles: [{plugins: {filter: {enabled: [{name: GCEPDLimits}]}}}]", "plugins.filter.enabled[0]: Invalid value"),
    (
        "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}]",
        "profiles[1].plugins.queueSort: Invalid value: must be the same for all profiles",
    ),
    ("profiles: [{pluginConfig: [{name: X}, {name: X}]}]", 'profiles[0].pluginConfig[1]: Duplicate value: "X"'),
    (args("DefaultPreemption", "{minCandidateNodesPercentage: 101}"), f"{ARGS}.minCandidateNodesPercentage"),
    (args("DefaultPreemption", "{minCandidateNodesAbsolute: -1}"), f"{ARGS}.minCandidateNodesAbsolute"),
    (
        args("DefaultPreemption", "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}"),
        "cannot be zero at the same time",
    ),
    (args("InterPodAffinity", "{hardPodAffinityWeight: 101}"), "not in valid range [0, 100]"),
    (args("InterPodAffinity", "{hardPodAffinityWeights: 1}"), f"{ARGS}.hardPodAffinityWeights: unknown field"),
    (args("InterPodAffinity", "{kind: NodeAffinityArgs}"), f"{ARGS}.kind: is 'NodeAffinityArgs'"),
    (args("InterPodAffinity", "{apiVersion: kubescheduler.config.k8s.io/v1beta3}"), f"{ARGS}.apiVersion"),
    (args("NodeResourcesFit", "{ignoredResources: ['a b']}"), f"{ARGS}.ignoredResources[0]: Invalid value"),
    (args("NodeResourcesFit", "{ignoredResourceGroups: [a/b]}"), "resource group name can't contain '/'"),
    (args("NodeResourcesFit", "{scoringStrategy: {type: Best}}"), f'{STRATEGY}.type: Unsupported value: "Best"'),
    (
        args("NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}"),
        f"{STRATEGY}.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
    ),
    (
        args("NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}"),
        f"{STRATEGY}.requestedToCapacityRatio: Required value",
    ),
    (
        args("NodeResourcesFit", "{scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {}}}"),
        f"{STRATEGY}.requestedToCapacityRatio: Forbidden",
    ),
    (
        args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}"),
        f"{ARGS}.resources[0].weight: Invalid value: 2: must be 1",
    ),
    (
        args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: cpu}]}"),
        f'{ARGS}.resources[1].name: Duplicate value: "cpu"',
    ),
    (args("VolumeBinding", "{bindTimeoutSeconds: -1}"), f"{ARGS}.bindTimeoutSeconds: Invalid value: -1"),
    (args("VolumeBinding", "{shape: [{utilization: 101, score: 1}]}"), f"{ARGS}.shape[0].utilization"),
    (args("VolumeBinding", "{shape: [{utilization: 10, score: 11}]}"), f"{ARGS}.shape[0].score"),
    (args("PodTopologySpread", "{defaultingType: Some}"), f"{ARGS}.defaultingType: Unsupported value"),
    (
        args("PodTopologySpread", f"{{defaultConstraints: [{{{CONSTRAINT}}}]}}"),
        "when .defaultConstraints are not empty",
    ),
    *(
        (args("PodTopologySpread", f"{{defaultingType: List, defaultConstraints: [{listed}]}}"), text)
        for listed, text in (
            ("{topologyKey: zone, whenUnsatisfiable: DoNotSchedule}", "defaultConstraints[0].maxSkew: Invalid value"),
            ("{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}", "defaultConstraints[0].topologyKey: Required value"),
            ("{maxSkew: 1, topologyKey: zone}", "defaultConstraints[0].whenUnsatisfiable: Required value"),
            (f"{{{CONSTRAINT}, labelSelector: {{}}}}", "defaultConstraints[0].labelSelector: Forbidden"),
            (f"{{{CONSTRAINT}}}, {{{CONSTRAINT}}}", "defaultConstraints[1]: Duplicate value"),
            (f"{{{CONSTRAINT}, skew: 1}}", "defaultConstraints[0].skew: unknown field"),
        )
    ),
    (
        args("NodeAffinity", "{addedAffinity: {required: {}}}"),
        f"{ARGS}.addedAffinity.required: unknown field",
    ),
    (
        args(
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: a, operator: Near}]}]}}}",
        ),
        "nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value",
    ),
    ("extenders: [{urlPrefix: 'http://e', prioritizeVerb: p}]", "extenders[0].weight: Invalid value: 0: must have"),
    ("extenders: [{urlPrefix: 'http://e', weigth: 1}]", "extenders[0].weigth: unknown field"),
    ("extenders: [{urlPrefix: 'http://e', httpTimeout: soon}]", "extenders[0].httpTimeout: Invalid value"),
    (
        "extenders: [{urlPrefix: 'http://e', bindVerb: b}, {urlPrefix: 'http://f', bindVerb: b}]",
        "only one extender can implement bind",
    ),
    (
        "extenders: [{urlPrefix: 'http://e', managedResources: [{name: cpu}]}]",
        "extenders[0].managedResources[0].name: Invalid value",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_kubernetes_refuses_is_named_with_its_path(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=r"^config\.yaml: ") as caught:
        read_config(yaml.safe_load(HEAD + text), "config.yaml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        ("{bind: {disabled: [{name: '*'}]}}", "at least one bind plugin is needed"),
        ("{filter: {enabled: [{name: ImageLocality}]}}", "plugin ImageLocality does not take part in filter"),
        ("{score: {enabled: [{name: NodeName}, {name: NodeName}]}}", "plugin 'NodeName' is there twice"),
        ("{filter: {enabled: [{name: Nope}]}}", "there is no plugin 'Nope'"),
    ],
)
def test_profiles_that_cannot_work_are_refused(plugins: str, message: str) -> None:
    config = read_config(yaml.safe_load(f"{HEAD}profiles: [{{plugins: {plugins}}}]"), "config.yaml")
    with pytest.raises(ConfigError) as caught:
        Bench(config)
    assert message in str(caught.value)


def _filters(plugins: str) -> list[str]:
    config = read_config(yaml.safe_load(f"{HEAD}profiles: [{{plugins: {plugins}}}]"), "config.yaml")
    return [p.name for p in Bench(config).scheduler.profiles["default-scheduler"].filters]


def test_plugins_that_a_point_names_come_first_there_and_new_ones_last() -> None:
    default = _filters("{}")
    named = "[{name: NodePorts}, {name: TaintToleration}]"
    rest = [n for n in default if n not in ("NodePorts", "TaintToleration")]
    assert _filters(f"{{filter: {{enabled: {named}}}}}") == ["NodePorts", "TaintToleration", *rest]
    off = "multiPoint: {disabled: [{name: NodePorts}]}"
    assert _filters(f"{{{off}, filter: {{enabled: {named}}}}}") == ["TaintToleration", *rest, "NodePorts"]


def weights(plugins: str) -> dict[str, Any]:
    """Return the score weights of a profile."""
    config = read_config(yaml.safe_load(f"{HEAD}profiles: [{{plugins: {plugins}}}]"), "config.yaml")
    return {p.name: w for p, w in Bench(config).scheduler.profiles["default-scheduler"].scores}


def test_a_plugin_that_is_named_again_without_weight_has_weight_one() -> None:
    assert weights("{}")["TaintToleration"] == 3
    assert weights("{multiPoint: {enabled: [{name: TaintToleration}]}}")["TaintToleration"] == 1
    both = "{multiPoint: {enabled: [{name: TaintToleration, weight: 7}]}, score: {enabled: [{name: TaintToleration}]}}"
    assert weights(both)["TaintToleration"] == 1
