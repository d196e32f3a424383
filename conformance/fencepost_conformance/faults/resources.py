"""Faults of the Workflow resource: its spec, its creation, its observation (chapters RES, OBS and ABI)."""

from collections.abc import Mapping
from typing import Any

from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot
from fencepost.machine.actions import Action as MachineAction
from fencepost.machine.replies import Reply
from fencepost.machine.state import NO_HISTORY, Instance
from fencepost.management import dependencies, documents, forms, queries, requests
from fencepost.management.actions import Action, Request, Transition
from fencepost.management.problems import Refusal
from fencepost.management.service import Management
from fencepost.management.state import Resource, State, Weights

from .table import altered, fault, swapped

WORKFLOW = forms.URLS["DurableWorkflow"]


def of_workflow(action: Action) -> bool:
    """Whether a request creates a Workflow, or puts one."""
    if not isinstance(action, Request) or not isinstance(action.body, dict):
        return False
    named = action.body.get("form")
    return named == WORKFLOW or (action.method == "PUT" and "className" in (action.body.get("spec") or {}))


class Lenient(Management):
    """A management that repairs the spec of a Workflow before it looks at it."""

    def repaired(self, spec: Any) -> Any:
        """The spec that is looked at."""
        raise NotImplementedError

    def apply(self, action: Action) -> Transition:
        if isinstance(action, Request) and of_workflow(action) and isinstance(action.body.get("spec"), dict):
            action = altered(action, body={**action.body, "spec": self.repaired(dict(action.body["spec"]))})
        return super().apply(action)


@fault("RES-1", "EXT-1")
class UnknownKeysOfASpecAreIgnored(Lenient):
    """Unknown keys of a spec are left out and not refused."""

    def repaired(self, spec: Any) -> Any:
        return {key: value for key, value in spec.items() if key in ("worker", "className")}


@fault("RES-1", "EXT-1")
class UnknownKeysOfAReferenceAreIgnored(Lenient):
    """Unknown keys beside resourceUid are left out and not refused."""

    def repaired(self, spec: Any) -> Any:
        worker = spec.get("worker")
        if isinstance(worker, dict) and "resourceUid" in worker:
            spec["worker"] = {"resourceUid": worker["resourceUid"]}
        return spec


@fault("RES-1")
class ClassNameHasADefault(Lenient):
    """A spec without a className, or with null, means the class `Probe`."""

    def repaired(self, spec: Any) -> Any:
        return {**spec, "className": spec.get("className") or "Probe"}


@fault("RES-1", "RES-5")
class WorkersMayBeText(Lenient):
    """A worker may be named by its bare UID."""

    def repaired(self, spec: Any) -> Any:
        worker = spec.get("worker")
        return {**spec, "worker": {"resourceUid": worker}} if isinstance(worker, str) else spec


@fault("RES-2")
class ClassNamesMayEndInALineBreak(Lenient):
    """A line break at the end of a className is left out."""

    def repaired(self, spec: Any) -> Any:
        name = spec.get("className")
        return {**spec, "className": name.removesuffix("\n")} if isinstance(name, str) else spec


@fault("RES-2")
class ClassNamesOf65Characters(Lenient):
    """A className may have 65 characters."""

    def repaired(self, spec: Any) -> Any:
        name = spec.get("className")
        return {**spec, "className": name[:64]} if isinstance(name, str) and len(name) == 65 else spec


@fault("RES-2")
class ClassNamesOf63Characters(Lenient):
    """A className may have 63 characters, no more."""

    def repaired(self, spec: Any) -> Any:
        name = spec.get("className")
        return {**spec, "className": ""} if isinstance(name, str) and len(name) == 64 else spec


@fault("RES-2")
class ClassNamesMayBeginWithADigit(Lenient):
    """A className may begin with a digit."""

    def repaired(self, spec: Any) -> Any:
        name = spec.get("className")
        digit = isinstance(name, str) and name[:1].isdigit()
        return {**spec, "className": f"_{name[1:]}"} if digit else spec


@fault("RES-5", "RES-3")
class WorkersAreFoundByName(Management):
    """A reference that is no UID is read as a name."""

    def apply(self, action: Action) -> Transition:
        if isinstance(action, Request) and of_workflow(action):
            spec = action.body.get("spec")
            worker = spec.get("worker") if isinstance(spec, dict) else None
            if isinstance(worker, dict) and isinstance(worker.get("resourceUid"), str):
                found = self.named(worker["resourceUid"])
                if found is not None:
                    named = {**spec, "worker": {**worker, "resourceUid": found.uid}}
                    action = altered(action, body={**action.body, "spec": named})
        return super().apply(action)


class Trusting(Management):
    """A management that does not look at everything about a Worker."""

    def passes(self, found: Resource | None, space: str, principal: str) -> bool:
        """Whether a reference is taken without a further look."""
        raise NotImplementedError

    def apply(self, action: Action) -> Transition:
        rule = dependencies.resolve

        def resolve(state: State, spec: Any, space: str, principal: str, spaces: frozenset[str]) -> None:
            found = state.resources.get(spec.worker) if isinstance(spec, forms.Workflow) else None
            if not isinstance(spec, forms.Workflow) or not self.passes(found, space, principal):
                rule(state, spec, space, principal, spaces)

        with swapped(dependencies, resolve=resolve):
            return super().apply(action)


@fault("RES-3")
class WorkersOfAnotherSpace(Trusting):
    """The Worker may be in another Space."""

    def passes(self, found: Resource | None, space: str, principal: str) -> bool:
        return found is not None and found.kind == "ModuleWorker" and found.space != space


@fault("RES-3")
class WorkersOfAnybody(Trusting):
    """Nobody asks whether the caller may use the Worker."""

    def passes(self, found: Resource | None, space: str, principal: str) -> bool:
        return found is not None and found.kind == "ModuleWorker" and found.owner != principal


@fault("RES-3")
class WorkersOfAnyForm(Trusting):
    """What is named as the Worker may be a Resource of any Form."""

    def passes(self, found: Resource | None, space: str, principal: str) -> bool:
        return found is not None and found.kind != "ModuleWorker"


@fault("RES-4", "RES-3")
class WorkersMayComeLater(Trusting):
    """The Worker need not exist."""

    def passes(self, found: Resource | None, space: str, principal: str) -> bool:
        return found is None


@fault("RES-4", "RES-6")
class DeploymentsMustComeFirst(Management):
    """A Workflow cannot be created before its Worker is deployed."""

    def apply(self, action: Action) -> Transition:
        rule = dependencies.admit_workflow

        def admit(state: State, spec: forms.Workflow) -> tuple[str, ...]:
            if not dependencies.planned_weights(state, spec.worker):
                raise Refusal("dependency_conflict", "deploy the Worker first")
            return rule(state, spec)

        with swapped(dependencies, admit_workflow=admit):
            return super().apply(action)


@fault("RES-4", "OBS-1")
class AlwaysReady(Management):
    """A Workflow is ready as soon as it exists, deployed or not."""

    def apply(self, action: Action) -> Transition:
        with swapped(queries, ready=lambda state, uid: True):
            return super().apply(action)


class Fitness(Management):
    """A management with an opinion of its own on which Versions are fit."""

    def fitness(self, state: State, version: str, class_name: str) -> Any:
        """Whether a Version is fit, unfit, or undecided."""
        raise NotImplementedError

    def apply(self, action: Action) -> Transition:
        if isinstance(action, Request):
            with swapped(dependencies, fitness=self.fitness):
                return super().apply(action)
        return super().apply(action)


_fitness = dependencies.fitness


@fault("RES-6", "RES-11", "RES-7")
class MissingClassesAreAccepted(Fitness):
    """A Workflow whose class a weighted Version lacks is accepted."""

    def fitness(self, state: State, version: str, class_name: str) -> Any:
        found = _fitness(state, version, class_name)
        return "fit" if found == "unfit" else found


@fault("ABI-1", "RES-6")
class AnyExportIsAClass(Fitness):
    """An export of the right name is taken for the class, whatever it is."""

    def fitness(self, state: State, version: str, class_name: str) -> Any:
        finding = state.resources[version].finding
        named = finding is not None and class_name in dict(finding.exports)
        return "fit" if named else _fitness(state, version, class_name)


@fault("RES-6", "RES-11")
class UnverifiedIsUnfit(Fitness):
    """A Version whose verification is unfinished is called unfit."""

    def fitness(self, state: State, version: str, class_name: str) -> Any:
        found = _fitness(state, version, class_name)
        return "unfit" if found == "undecided" else found


@fault("RES-6")
class UnverifiedIsFit(Fitness):
    """A Version whose verification is unfinished is taken for fit."""

    def fitness(self, state: State, version: str, class_name: str) -> Any:
        found = _fitness(state, version, class_name)
        return "fit" if found == "undecided" else found


@fault("RES-6", "RES-11")
class PendingDeploymentsDoNotCount(Management):
    """Only the active Deployment is looked at before a create, not one that is under way."""

    def apply(self, action: Action) -> Transition:
        def in_force(state: State, worker: str) -> tuple[Weights, ...]:
            return tuple(active.weights for uid, active in state.active.items() if uid == worker)

        with swapped(dependencies, planned_weights=in_force):
            return super().apply(action)


@fault("RES-6")
class ConflictsTouchTheDeployment(Management):
    """A create that is refused for a class that is missing takes the Deployment out of force."""

    def apply(self, action: Action) -> Transition:
        made = super().apply(action)
        reply = made.reply
        if of_workflow(action) and getattr(reply, "code", None) == "dependency_conflict":
            self.state = altered(self.state, active={})
        return made


@fault("RES-6")
class ConflictsHaveAnotherCode(Management):
    """A class that is missing is refused as an invalid spec."""

    def apply(self, action: Action) -> Transition:
        rule = dependencies.admit_workflow

        def admit(state: State, spec: forms.Workflow) -> tuple[str, ...]:
            try:
                return rule(state, spec)
            except Refusal as refusal:
                code = "invalid_spec" if refusal.code == "dependency_conflict" else refusal.code
                raise Refusal(code, refusal.detail) from None

        with swapped(dependencies, admit_workflow=admit):
            return super().apply(action)


@fault("RES-11", "RES-6")
class BusyBeatsUnfit(Management):
    """A Version that is not verified yet beats one that is known to be unfit."""

    def apply(self, action: Action) -> Transition:
        rule = dependencies.admit_workflow

        def admit(state: State, spec: forms.Workflow) -> tuple[str, ...]:
            for weights in dependencies.planned_weights(state, spec.worker):
                if any(_fitness(state, uid, spec.class_name) == "undecided" for uid, _ in weights):
                    raise Refusal("resource_busy", "wait for the verification")
            return rule(state, spec)

        with swapped(dependencies, admit_workflow=admit):
            return super().apply(action)


@fault("RES-7", "DEL-8")
class RepetitionsAreJudgedAnew(Management):
    """A repeated create is judged like a new one once its Operation is over, and so is refused."""

    def apply(self, action: Action) -> Transition:
        rule = requests._replayed

        def replayed(state: State, request: Request, principal: str) -> Any:
            known = state.keys.get((principal, request.key or ""))
            over = known is not None and state.operations[known.operation].finished
            return None if over and request.method == "POST" else rule(state, request, principal)

        with swapped(requests, _replayed=replayed):
            return super().apply(action)


@fault("RES-8")
class PutMovesAWorkflow(Management):
    """PUT may change the class and the Worker of a Workflow."""

    def apply(self, action: Action) -> Transition:
        rule = requests._update

        def update(state: State, request: Request, principal: str, resource: Resource, text: str) -> Any:
            if resource.kind == "DurableWorkflow":
                resource = altered(resource, spec=text)
            return rule(state, request, principal, resource, text)

        with swapped(requests, _update=update):
            return super().apply(action)


@fault("RES-8", "RES-1")
class PutMergesASpec(Management):
    """PUT takes what its spec leaves out from the spec that was."""

    def apply(self, action: Action) -> Transition:
        if isinstance(action, Request) and action.method == "PUT" and isinstance(action.body, dict):
            found = self.state.resources.get(action.target.rpartition("/")[2])
            given = action.body.get("spec")
            if found is not None and found.kind == "DurableWorkflow" and isinstance(given, dict):
                merged = {**documents.resource(found)["spec"], **given}
                action = altered(action, body={**action.body, "spec": merged})
        return super().apply(action)


@fault("RES-8", "OBS-2a")
class EqualPutsDoNothing(Management):
    """PUT with the spec that is there already is answered with the last Operation."""

    def apply(self, action: Action) -> Transition:
        rule = requests._update

        def update(state: State, request: Request, principal: str, resource: Resource, text: str) -> Any:
            same = forms.view(resource.kind, resource.spec) == forms.view(resource.kind, text)
            if resource.kind == "DurableWorkflow" and same:
                last = state.operations[resource.last_operation]
                return Transition(state, requests._accepted(state, last))
            return rule(state, request, principal, resource, text)

        with swapped(requests, _update=update):
            return super().apply(action)


@fault("RES-8", "DO-6")
class PutStartsAgain(ManagedHost):
    """PUT lets the live instances begin their histories anew."""

    def manage(self, request: Any) -> dict[str, Any]:
        answer = super().manage(request)
        if request["method"] == "PUT" and request["uid"] == self.uid and answer["status"] in (200, 202):
            for key, slot in list(self.slots.items()):
                if isinstance(slot, Instance) and slot.live and not slot.owner:
                    self.slots[key] = altered(slot, history=NO_HISTORY, current=None, inbox=(), inbox_bytes=0)
            self.run()
        return answer


@fault("RES-9", "DEL-7", "OBS-2a", "OBS-1")
class IdsBelongToTheClass(ManagedHost):
    """The instances of a class are one id space, whichever resource they were created in."""

    def counts(self, uid: str) -> dict[str, int]:
        every = [super(IdsBelongToTheClass, self).counts(each) for each in {key[0] for key in self.slots}]
        return {status: sum(each[status] for each in every) for status in super().counts(uid)}


@fault("RES-10")
class CreatesAdvanceTheGeneration(ManagedHost):
    """Creating an instance advances the generation of the resource."""

    def create(self, id: Any = None, params: Any = None) -> str:
        made = super().create(id, params)
        state = self.management.state
        found = state.resources[self.uid]
        newer = altered(found, generation=found.generation + 1)
        self.management.state = altered(state, resources={**state.resources, found.uid: newer})
        return made


@fault("RES-10")
class EndsAdvanceTheGeneration(ManagedHost):
    """An instance that ends advances the generation of the resource."""

    def perform(self, key: Any, action: MachineAction) -> Reply:
        before: Slot = self.slot(key)
        reply = super().perform(key, action)
        after = self.slot(key)
        ended = isinstance(after, Instance) and after.terminal is not None
        if ended and isinstance(before, Instance) and before.terminal is None:
            state = self.management.state
            found = state.resources[self.uid]
            newer = altered(found, generation=found.generation + 1)
            self.management.state = altered(state, resources={**state.resources, found.uid: newer})
        return reply


# Observation


class Showing(Management):
    """A management that shows Resources in a way of its own."""

    def displayed(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document of a Workflow that is answered."""
        raise NotImplementedError

    def apply(self, action: Action) -> Transition:
        rule = documents.resource

        def resource(record: Resource) -> dict[str, Any]:
            made = rule(record)
            return self.displayed(made) if record.kind == "DurableWorkflow" else made

        with swapped(documents, resource=resource):
            return super().apply(action)


@fault("OBS-1")
class ZeroCountsAreLeftOut(Showing):
    """`instanceCounts` lacks the statuses that no instance has."""

    def displayed(self, document: dict[str, Any]) -> dict[str, Any]:
        counts = document["observed"].get("instanceCounts", {})
        kept = {status: count for status, count in counts.items() if count}
        return {**document, "observed": {**document["observed"], "instanceCounts": kept}}


@fault("OBS-1", "BND-5")
class CountsHaveATotal(Showing):
    """`instanceCounts` has the total as an eighth key."""

    def displayed(self, document: dict[str, Any]) -> dict[str, Any]:
        counts = document["observed"].get("instanceCounts", {})
        total = {**counts, "total": sum(counts.values())}
        return {**document, "observed": {**document["observed"], "instanceCounts": total}}


@fault("OBS-1")
class OutputHasAName(Showing):
    """`output` of a Workflow is not empty."""

    def displayed(self, document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "output": {"name": document["name"]}}


@fault("OBS-1")
class ReadyIsANumber(Showing):
    """`ready` is 1 or 0."""

    def displayed(self, document: dict[str, Any]) -> dict[str, Any]:
        observed = document["observed"]
        number = {"ready": int(observed["ready"])} if "ready" in observed else {}
        return {**document, "observed": {**observed, **number}}


@fault("OBS-1", "RES-4")
class FailuresMakeUnready(ManagedHost):
    """A resource with errored instances is not ready."""

    def _count(self, uid: str) -> Mapping[str, int]:
        counts = super()._count(uid)
        self.management.failing = bool(counts["errored"])  # type: ignore[attr-defined]
        return counts

    def manage(self, request: Any) -> dict[str, Any]:
        answer = super().manage(request)
        observed = answer.get("resource", {}).get("observed", {})
        if observed.get("ready") and observed.get("instanceCounts", {}).get("errored"):
            answer["resource"]["observed"] = {**observed, "ready": False}
        return answer


class Counting(ManagedHost):
    """A Host that counts instances in a way of its own."""

    def counted(self, counts: dict[str, int]) -> dict[str, int]:
        """The counts that are reported."""
        raise NotImplementedError

    def _count(self, uid: str) -> Mapping[str, int]:
        return self.counted(dict(super()._count(uid)))


@fault("OBS-2a", "OBS-1")
class CountsAreOneBehind(Counting):
    """An observation has the counts of the one before."""

    def counted(self, counts: dict[str, int]) -> dict[str, int]:
        last: dict[str, int] = self.__dict__.get("last", dict.fromkeys(counts, 0))
        self.last = counts
        return last


@fault("OBS-2a", "OBS-1")
class TerminatedIsErrored(Counting):
    """Terminated instances are counted as errored."""

    def counted(self, counts: dict[str, int]) -> dict[str, int]:
        return {**counts, "errored": counts["errored"] + counts["terminated"], "terminated": 0}


@fault("OBS-2a", "OBS-1")
class WaitingIsSleeping(Counting):
    """Waiting instances are counted as sleeping."""

    def counted(self, counts: dict[str, int]) -> dict[str, int]:
        return {**counts, "sleeping": counts["sleeping"] + counts["waiting"], "waiting": 0}


@fault("OBS-2a", "OBS-1")
class CountsInMemory(Counting):
    """A restart of the Host loses the counts of what has ended."""

    ended: dict[str, int] | None = None

    def restart(self) -> None:
        super().restart()
        self.ended = dict(ManagedHost._count(self, self.uid))

    def counted(self, counts: dict[str, int]) -> dict[str, int]:
        lost = self.ended or {}
        over = ("complete", "errored", "terminated")
        return {each: n - lost.get(each, 0) if each in over else n for each, n in counts.items()}


@fault("OBS-2")
class ReadsForgetTheObservation(Showing):
    """GET shows an observation once, and `{}` until there is a newer one."""

    def displayed(self, document: dict[str, Any]) -> dict[str, Any]:
        seen = self.__dict__.setdefault("seen", {})
        known = seen.get(document["uid"]) == document["observedAt"]
        seen[document["uid"]] = document["observedAt"]
        return {**document, "observed": {}} if known else document


__all__ = ["of_workflow"]
