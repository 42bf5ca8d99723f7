// Which fields and conditions a posted form carries. Stores differ in what they refuse, so the mix is a table:
// `standard` passes Ceph RGW, MinIO, Garage, Versity and the embedded store; AWS takes no AWSAccessKeyId beside a
// version 4 signature; SeaweedFS from 4.21 refuses conditions on names it does not know, and reads `signature` as
// version 2, whatever stands beside it.

export const FORM_PROFILES = ['standard', 'aws', 'seaweedfs'] as const;
export type FormProfile = (typeof FORM_PROFILES)[number];

export type FormRules = {
  /** Send the access key id under AWS's own name too, as version 2 signatures need. */
  awsAccessKeyField: boolean;
  /** Name the remaining fields in the policy: most stores refuse a field that it does not cover. */
  coverEveryField: boolean;
};

export const FORM_RULES: Record<FormProfile, FormRules> = {
  standard: { awsAccessKeyField: true, coverEveryField: true },
  aws: { awsAccessKeyField: false, coverEveryField: true },
  seaweedfs: { awsAccessKeyField: true, coverEveryField: false },
};
