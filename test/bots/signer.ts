// Keys that sign tokens, and the key set of their public halves.

import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export type Signer = { kid: string; jwk: JWK; token(claims: Record<string, unknown>): Promise<string> };

export async function createSigner(kid: string): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  return {
    kid,
    jwk: { ...(await exportJWK(publicKey)), kid },
    token: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey),
  };
}
