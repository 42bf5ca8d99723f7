export { embed, feed, finish, INPUT_BYTES, input, output } from './embedding';
export { fibonacci } from './fibonacci';
