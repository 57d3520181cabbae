type Readable = Pick<Response, 'blob' | 'bytes' | 'formData' | 'json' | 'text'>;

/** A request or a response of which `full` is made when its body is read in a way that is not short cut. */
export abstract class LazyBody<Full extends Readable & { clone(): Full }> {
  protected abstract get full(): Full;

  blob() {
    return this.full.blob();
  }
  bytes() {
    return this.full.bytes();
  }
  formData() {
    return this.full.formData();
  }
  json() {
    return this.full.json();
  }
  text() {
    return this.full.text();
  }
  clone(): Full {
    return this.full.clone();
  }
}
