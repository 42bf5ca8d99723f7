import type { ComponentChildren } from 'preact';

type Look = 'primary' | 'danger' | 'plain' | 'plain danger';

type ButtonProps = {
  look?: Look | undefined;
  busy?: boolean;
  children: ComponentChildren;
  type?: 'button' | 'submit';
  disabled?: boolean | undefined;
  title?: string;
  onClick?: () => void;
  'aria-label'?: string;
  'aria-expanded'?: boolean;
};

/** A button; while `busy`, it cannot be pressed again. */
export const Button = ({ look, busy = false, type = 'button', disabled = false, ...rest }: ButtonProps) => (
  <button class={`button ${look ?? ''}`} type={type} disabled={disabled || busy} aria-busy={busy} {...rest} />
);

/** A link that looks like a button. */
export const LinkButton = ({
  look,
  href,
  children,
}: {
  look?: Look;
  href: string;
  children: ComponentChildren;
}) => (
  <a class={`button ${look ?? ''}`} href={href}>
    {children}
  </a>
);
