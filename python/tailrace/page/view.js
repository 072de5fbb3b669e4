// The stretch of time that all lanes of a run show.

const NARROWEST_NS = 200;

class View {
  constructor(full) {
    this.full = Math.max(full, 1);
    this.listeners = [];
    this.begin = 0;
    this.end = this.full;
  }

  get length() {
    return this.end - this.begin;
  }

  get zoomed() {
    return this.length < this.full;
  }

  show(begin, end) {
    const length = Math.min(Math.max(end - begin, Math.min(NARROWEST_NS, this.full)), this.full);
    this.begin = Math.min(Math.max(begin, 0), this.full - length);
    this.end = this.begin + length;
    this.listeners.forEach((listener) => listener());
  }

  // `place` (0 to 1) stays where it is.
  zoom(factor, place) {
    const at = this.begin + place * this.length;
    const length = this.length * factor;
    this.show(at - place * length, at + (1 - place) * length);
  }

  pan(share) {
    const shift = share * this.length;
    this.show(this.begin + shift, this.end + shift);
  }

  reset() {
    this.show(0, this.full);
  }
}
