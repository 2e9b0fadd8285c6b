/** The nonce with which the Content-Security-Policy allows this page to add style elements. */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
