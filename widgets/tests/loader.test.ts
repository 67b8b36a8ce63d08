import { expect, test, vi } from "vitest";
import loader from "../src/loader";
import { Host } from "./host";

test.each([
    ["a manager that does not know the program", { get_model: () => Promise.reject(new Error("no such model")) }],
    ["a manager that cannot look models up", {}],
])("%s is told in words", async (_, manager) => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const host = new Host("workbench", { program: "IPY_MODEL_abc" });
    const el = document.createElement("div");
    const close = await loader.render({ model: Object.assign(host, { widget_manager: manager }) as never, el });
    close();
    expect(el.textContent).toBe("dpviz: the program of this view is not on this page. Run its cell again to draw it.");
    expect(warned).toHaveBeenCalledOnce();
    warned.mockRestore();
});

test("the program that is looked up is the one that the view names", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const asked: string[] = [];
    const host = new Host("workbench", { program: "IPY_MODEL_abc" });
    const manager = { get_model: (id: string) => Promise.reject(new Error(String(asked.push(id)))) };
    await loader.render({ model: Object.assign(host, { widget_manager: manager }) as never, el: document.createElement("div") });
    expect(asked).toEqual(["abc"]);
    warned.mockRestore();
});
