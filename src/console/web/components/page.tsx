import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

/** A page: its title, one sentence about it, what can be done on it, and its parts. */
export function Page({
  title,
  about,
  actions,
  children,
}: {
  title: string;
  about?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · Atrium`;
  }, [title]);
  return (
    <div class="page">
      <header class="page-header">
        <div>
          <h1>{title}</h1>
          {about === undefined ? null : <p>{about}</p>}
        </div>
        {actions === undefined ? null : <div class="row">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export const Section = ({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) => (
  <section class="section">
    <header>
      <h2>{title}</h2>
      {aside === undefined ? null : <div class="row">{aside}</div>}
    </header>
    {children}
  </section>
);

/** Figures in a row, each with its name. */
export const Figures = ({ figures }: { figures: readonly { name: string; value: ComponentChildren }[] }) => (
  <dl class="figures">
    {figures.map(({ name, value }) => (
      <div class="figure" key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** Views of a page; each is a link, so that it can be opened and kept by itself. */
export const Tabs = ({
  label,
  tabs,
}: {
  label: string;
  tabs: readonly { href: string; label: string; current: boolean }[];
}) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map((tab) => (
      <a key={tab.label} href={tab.href} {...(tab.current ? { 'aria-current': 'page' as const } : {})}>
        {tab.label}
      </a>
    ))}
  </nav>
);
