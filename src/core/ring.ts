// What comes and goes all the time, such as the requests in progress, in the order in which it came.
//
// A Set or Map would keep what it no longer has. As entries come and go, the runtime copies its table, and each old table refers to the
// next one; once one of them counts as old for the generational garbage collector, so does everything that stood in the tables after
// it, and stays until a full collection. All requests did, and a fifth of the processor time went to collections that freed nothing.

/** The place of an item in its ring. Once it has left, it refers to nothing. */
export class Link<T> {
  item: T | undefined;
  next: Link<T> | undefined;
  previous: Link<T> | undefined;

  constructor(item?: T) {
    this.item = item;
  }
}

export class Ring<T> {
  size = 0;
  /** Before the first and behind the last. */
  private readonly end = new Link<T>();

  constructor() {
    this.end.next = this.end;
    this.end.previous = this.end;
  }

  add(item: T): Link<T> {
    const { end } = this;
    const link = new Link(item);
    const last = end.previous ?? end;
    link.previous = last;
    link.next = end;
    last.next = link;
    end.previous = link;
    this.size += 1;
    return link;
  }

  /** Whether it was there until now. */
  remove(link: Link<T>): boolean {
    const { next, previous } = link;
    if (next === undefined || previous === undefined) return false;
    previous.next = next;
    next.previous = previous;
    link.item = undefined;
    link.next = undefined;
    link.previous = undefined;
    this.size -= 1;
    return true;
  }

  /** The link that has been there for longest. */
  first(): Link<T> | undefined {
    const { next } = this.end;
    return next === this.end ? undefined : next;
  }

  /** The items that are there now, but those that have left before their turn. */
  *items(): Generator<T> {
    const links: Link<T>[] = [];
    for (let link = this.first(); link !== undefined && link !== this.end; link = link.next) links.push(link);
    for (const link of links) if (link.next !== undefined) yield link.item as T;
  }
}
