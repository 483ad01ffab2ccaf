// Browsers start no worker from a page that was opened from disk; the search then runs in a frame of its own.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      inside.importScripts = (...urls) => Promise.all(urls.map((one) => this.load(one)));
      this.ready = this.load(url);
    }
    load(url) {
      const script = this.frame.contentDocument.createElement("script");
      script.src = new URL(url, location.href).href;
      return new Promise((loaded, failed) => {
        script.onload = loaded;
        script.onerror = failed;
        this.frame.contentDocument.body.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
