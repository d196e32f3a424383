"""BND-3, EVT-2, EVT-3: a taken id gives the run that has it, and messages are taken in without a bound.

The Form refuses a taken id, an event for an instance that has ended, and the 1025th event that waits. DBOS
takes an id as a key of idempotency (a start that is refused has to be asked for), and promises only that a
message can be received: so its documentation has it.
"""

import tempfile

from dbos import DBOS, SendMessage, SetWorkflowID, error


@DBOS.workflow()
def waits() -> object:
    return DBOS.recv("go", 60)


with tempfile.TemporaryDirectory() as place:
    DBOS(config={"name": "inbox", "system_database_url": f"sqlite:///{place}/dbos", "log_level": "CRITICAL"})
    DBOS.launch()
    with SetWorkflowID("i"):
        handle = DBOS.start_workflow(waits)
    with SetWorkflowID("i"):
        print("a second start with the id gives", DBOS.start_workflow(waits).get_workflow_id())
    try:
        with SetWorkflowID("i", workflow_id_reuse_policy="reject"):
            DBOS.start_workflow(waits)
    except error.DBOSWorkflowIDInUseError as refused:
        print("with reject it raises", type(refused).__name__)
    DBOS.send_bulk([SendMessage("i", {"n": n}, "x") for n in range(1025)])
    print("the Form expects: the 1025th waiting event is refused; seen: all of them are accepted")
    DBOS.send("i", {"n": 0}, "go")
    print("the run ends with", handle.get_result())
    DBOS.send("i", {"n": 1}, "go")
    print("the Form expects: an event for an ended run is refused; seen: it is accepted")
    DBOS.destroy()
