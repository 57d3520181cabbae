import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Longer than a double click, and than it takes to stop a hand that was about to click. */
const STEADY_MS = 500;
const LOOK_EVERY_MS = 100;

const looks = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
const lookRegularly = (look: () => void): (() => void) => {
  looks.add(look);
  timer ??= setInterval(() => {
    if (document.visibilityState === 'visible') for (const one of looks) one();
  }, LOOK_EVERY_MS);
  return () => {
    looks.delete(look);
    if (looks.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
};

/** Whether an element has stood still for a moment, and how to ask that now. */
export type Steadiness = { readonly isSteady: Signal<boolean>; readonly check: () => boolean };

/**
 * Watches where an element stands, so that a click which was meant for what stood there before does nothing. Whatever moves it
 * counts, other than the reader's own scrolling.
 */
export const useSteadiness = (element: RefObject<HTMLElement | null>): Steadiness => {
  const isSteady = useSignal(false);
  const check = useRef((): boolean => false);
  useLayoutEffect(() => {
    let movedAt = performance.now();
    let before: { readonly inWindow: number; readonly inPage: number } | undefined;
    const look = (): boolean => {
      const { current } = element;
      if (current === null) return false;
      const inWindow = current.getBoundingClientRect().top;
      const inPage = inWindow + scrollY;
      // Scrolling changes the place in the window alone, and a browser that scrolls along with the text the place in the page alone.
      if (before !== undefined && Math.abs(before.inWindow - inWindow) > 1 && Math.abs(before.inPage - inPage) > 1)
        movedAt = performance.now();
      before = { inWindow, inPage };
      isSteady.value = performance.now() - movedAt >= STEADY_MS;
      return isSteady.value;
    };
    check.current = look;
    look();
    return lookRegularly(look);
  }, []);
  return { isSteady, check: () => check.current() };
};
