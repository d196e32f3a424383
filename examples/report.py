"""A report that is drafted, cools down, and waits for somebody's approval."""


class ReportWorkflow:
    def __init__(self, env):
        self.region = env.get("REGION", "everywhere")

    async def run(self, event, step):
        name = (event.params or {}).get("name", "unnamed")
        draft = await step.do("draft", lambda: {"title": f"{name} in {self.region}"}, {"maxAttempts": 3})
        await step.sleep("cool down", 5)
        approval = await step.wait_for_event("approval", type="approved", timeout_seconds=3600)
        return {"title": draft["title"], "approvedBy": (approval or {}).get("by", "somebody")}
