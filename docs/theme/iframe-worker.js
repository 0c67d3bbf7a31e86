/* Pages opened from a folder (file:) may start no worker, so that the search box would stay empty. Here a hidden
   frame takes the worker's place: the script runs in it, and messages pass between the two windows. The search
   of mkdocs-material looks for the name IFrameWorker. */
(() => {
  if (location.protocol !== "file:") return;
  class FrameWorker extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.addEventListener("load", () => {
        this.waiting.forEach((data) => this.tell(data));
        this.waiting = null;
      });
      script.src = new URL(address, location.href).href;
      frame.contentDocument.body.append(script);
    }
    tell(data) {
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.tell(data);
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  }
  window.IFrameWorker = window.Worker = FrameWorker;
})();
