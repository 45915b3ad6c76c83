export interface Release {
  readonly version: string;
  readonly commit: string;
}
export function releases(): readonly Release[];
export function missingRelease(release: Release): string | undefined;
export function prepareRelease(release: Release): Promise<string>;
