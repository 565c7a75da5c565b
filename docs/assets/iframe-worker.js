// Browsers start no workers for pages that are opened from a disk, and the search of this site is one.
// There, and only there, a worker is a hidden frame of the page: it says and hears the same.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = (data) => this._tell(this, data)
      this._inside = inside
      this._ready = new Promise((loaded) => {
        const script = inside.document.createElement("script")
        script.src = new URL(address, location.href)
        script.onload = loaded
        inside.document.body.append(script)
      })
    }

    postMessage(data) {
      this._ready.then(() => this._tell(this._inside, data))
    }

    _tell(listener, data) {
      const said = new MessageEvent("message", { data })
      listener.dispatchEvent(said)
      if (listener !== this._inside && this.onmessage) this.onmessage(said)
    }

    terminate() {
      this._inside.frameElement.remove()
    }
  }
}
