// A mistake to plant, and the test that has to notice it.

export type Planted = {
  /** What no longer holds. */
  mistake: string;
  file: string;
  /** Stands in the file exactly once. */
  text: string;
  replacement: string;
  /** The test file that has to fail, and a part of the name of the test, where one of them is enough. */
  test: string;
  name?: string;
};
