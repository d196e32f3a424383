// A report that is drafted, cools down, and waits for somebody's approval.

export class ReportWorkflow {
  constructor(env) {
    this.region = env.REGION ?? "everywhere";
  }

  async run(event, step) {
    const name = event.params?.name ?? "unnamed";
    const draft = await step.do("draft", () => ({ title: `${name} in ${this.region}` }), { maxAttempts: 3 });
    await step.sleep("cool down", 5);
    const approval = await step.waitForEvent("approval", { type: "approved", timeoutSeconds: 3600 });
    return { title: draft.title, approvedBy: approval?.by ?? "somebody" };
  }
}
