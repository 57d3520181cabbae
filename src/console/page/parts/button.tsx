import type { ComponentChildren, RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import { useSteadiness } from './steady.ts';

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
  readonly elementRef?: RefObject<HTMLButtonElement | null>;
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
  elementRef,
  children,
}: ButtonProps) => {
  const isIdle = isBusy || isDisabled;
  const click = (event: Event): void => {
    if (isIdle) event.preventDefault();
    else onClick?.();
  };
  return (
    <button
      {...(elementRef === undefined ? {} : { ref: elementRef })}
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

/**
 * A button that cannot be taken back. It works only after it has stood still for a moment: what appears or moves under the pointer
 * does not take the click that was meant for something else, nor the second half of a double click.
 */
export const SteadyButton = ({ isDisabled = false, onClick, ...props }: Omit<ButtonProps, 'elementRef'>) => {
  const element = useRef<HTMLButtonElement>(null);
  const { isSteady, check } = useSteadiness(element);
  return (
    <Button
      {...props}
      elementRef={element}
      isDisabled={isDisabled || !isSteady.value}
      onClick={() => {
        if (check()) onClick?.();
      }}
    />
  );
};
