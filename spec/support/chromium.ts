import { type Browser, chromium } from 'playwright-core';

/**
 * Starts Chromium with an empty profile: Debian's, or the one that CHROMIUM names.
 * @param args Further switches of Chromium's.
 */
export function launchChromium(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--disable-gpu', '--disable-quic', '--disable-component-update', '--disable-sync', '--no-proxy-server', ...args],
  });
}
