import type { ComponentChildren } from 'preact';

type ButtonProps = {
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  readonly type?: 'button' | 'submit';
  readonly onClick?: () => void;
  /** Waiting for the answer to a click: it cannot be clicked again, and keeps the focus. */
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  /** The name for screen readers, where the text alone does not say which of several it is. */
  readonly label?: string;
  readonly isSmall?: boolean;
  readonly children: ComponentChildren;
};

/** A button of the console. A disabled or busy one stays focusable, so that the focus is never lost. */
export const Button = ({
  kind = 'plain',
  type = 'button',
  onClick,
  isBusy = false,
  isDisabled = false,
  label,
  isSmall = false,
  children,
}: ButtonProps) => {
  const isIdle = isBusy || isDisabled;
  const click = (event: Event): void => {
    if (isIdle) event.preventDefault();
    else onClick?.();
  };
  return (
    <button
      type={type}
      class={`button ${kind}${isSmall ? ' small' : ''}`}
      aria-disabled={isIdle}
      aria-busy={isBusy}
      aria-label={label}
      onClick={click}
    >
      {children}
    </button>
  );
};
