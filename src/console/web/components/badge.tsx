import type { ComponentChildren } from 'preact';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad';

/** A state in a word; the colour repeats it. */
export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

/** Words of the same kind, such as scopes or tags. */
export const Chips = ({ words }: { words: readonly string[] }) => (
  <span class="chips">
    {words.map((word) => (
      <span class="chip name" key={word}>
        {word}
      </span>
    ))}
  </span>
);
