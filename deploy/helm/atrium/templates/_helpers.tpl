{{- define "atrium.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "atrium.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "atrium.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "atrium.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "atrium.selectorLabels" -}}
app.kubernetes.io/name: {{ include "atrium.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "atrium.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "atrium.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "atrium.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "atrium.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "atrium.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The names of the secrets, as a JSON list, sorted. */}}
{{- define "atrium.secretKeys" -}}
{{- concat (keys .Values.secrets.values) .Values.secrets.existing.keys | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/* The embedded object store is used where no other one is configured. */}}
{{- define "atrium.embedsStore" -}}
{{- if and .Values.embedded.enabled (not (get .Values.settings "S3_ENDPOINT")) -}}true{{- end -}}
{{- end -}}

{{/* Whether certificates of authorities of yours are mounted. */}}
{{- define "atrium.hasAuthorities" -}}
{{- if or .Values.tls.caBundle .Values.tls.caConfigMap -}}true{{- end -}}
{{- end -}}

{{/* What the schema cannot say in a sentence. */}}
{{- define "atrium.validate" -}}
{{- $secrets := include "atrium.secretKeys" . | fromJsonArray -}}
{{- if and .Values.secrets.existing.keys (not .Values.secrets.existing.name) -}}
{{- fail "secrets.existing.keys needs secrets.existing.name" -}}
{{- end -}}
{{- range $name := keys .Values.secrets.values -}}
{{- if has $name $.Values.secrets.existing.keys -}}
{{- fail (printf "%s is in secrets.values and in secrets.existing.keys: the value comes from one of them" $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.tls.caBundle .Values.tls.caConfigMap -}}
{{- fail "tls.caBundle and tls.caConfigMap are both set: the certificates come from one of them" -}}
{{- end -}}
{{- if .Values.embedded.enabled -}}
{{- if gt (int (default 1 .Values.replicas)) 1 -}}
{{- fail (printf "embedded.enabled has one replica, whose volume no other pod can use: replicas=%d needs embedded.enabled=false and servers of your own" (int .Values.replicas)) -}}
{{- end -}}
{{- if .Values.autoscaling.enabled -}}
{{- fail "embedded.enabled has one replica: autoscaling needs embedded.enabled=false and servers of your own" -}}
{{- end -}}
{{- else -}}
{{- range $name := list "DATABASE_URL" "S3_ACCESS_KEY_ID" "S3_SECRET_ACCESS_KEY" "NATS_URL" -}}
{{- if not (has $name $secrets) -}}
{{- fail (printf "embedded.enabled=false needs the secret %s, in secrets.values or in secrets.existing.keys" $name) -}}
{{- end -}}
{{- end -}}
{{- if not (get .Values.settings "S3_ENDPOINT") -}}
{{- fail "embedded.enabled=false needs settings.S3_ENDPOINT" -}}
{{- end -}}
{{- end -}}
{{- end -}}
