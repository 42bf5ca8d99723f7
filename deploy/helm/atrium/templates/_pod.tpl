{{/* The pod, of the Deployment and of the StatefulSet. */}}
{{- define "atrium.pod" -}}
metadata:
  labels:
    {{- include "atrium.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Pods are replaced when a secret or the models file of the chart changes.
    checksum/secret: {{ toJson .Values.secrets | sha256sum }}
    checksum/models: {{ .Values.models | sha256sum }}
    {{- if .Values.tls.caBundle }}
    checksum/authorities: {{ .Values.tls.caBundle | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ include "atrium.serviceAccountName" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add .Values.shutdown.delaySeconds .Values.shutdown.timeoutSeconds 10 }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    # The user of the image; the embedded Postgres needs one that /etc/passwd has.
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: atrium
      image: {{ include "atrium.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      env:
        {{- $fixed := dict "PORT" "3000" "DATA_DIR" "/data/atrium" "LOG_FORMAT" "json" }}
        {{- $_ := set $fixed "SHUTDOWN_DELAY_MS" (printf "%d000" (int .Values.shutdown.delaySeconds)) }}
        {{- $_ := set $fixed "SHUTDOWN_TIMEOUT_MS" (printf "%d000" (int .Values.shutdown.timeoutSeconds)) }}
        {{- if include "atrium.embedsStore" . }}
        {{- $_ := set $fixed "OBJECT_STORE_PORT" (toString .Values.embedded.storePort) }}
        {{- $host := .Values.ingress.storeHost }}
        {{- $scheme := ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}
        {{- $_ := set $fixed "S3_PUBLIC_ENDPOINT" (ternary (printf "%s://%s" $scheme $host) (printf "http://localhost:%d" (int .Values.embedded.storePort)) (ne $host "")) }}
        {{- end }}
        {{- if .Values.models }}
        {{- $_ := set $fixed "MODELS_CONFIG" "/etc/atrium/models.yaml" }}
        {{- end }}
        {{- /* A number of a values file is a float here. */}}
        {{- range $name, $value := mergeOverwrite $fixed .Values.settings }}
        - name: {{ $name }}
          value: {{ ternary (printf "%.0f" $value) (toString $value) (kindIs "float64" $value) | quote }}
        {{- end }}
        {{- range $name := include "atrium.secretKeys" . | fromJsonArray }}
        - name: {{ $name }}_FILE
          value: /run/secrets/atrium/{{ $name }}
        {{- end }}
        {{- if include "atrium.hasAuthorities" . }}
        - name: NODE_EXTRA_CA_CERTS
          value: /etc/atrium-authorities/{{ .Values.tls.caKey }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: 3000
        {{- if include "atrium.embedsStore" . }}
        - name: store
          containerPort: {{ .Values.embedded.storePort }}
        {{- end }}
      # The first start of a version changes the database before it listens.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 120
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # Its own checks take 2.5 s at most.
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 4
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        {{- if include "atrium.secretKeys" . | fromJsonArray }}
        - name: secrets
          mountPath: /run/secrets/atrium
          readOnly: true
        {{- end }}
        {{- if .Values.models }}
        - name: models
          mountPath: /etc/atrium
          readOnly: true
        {{- end }}
        {{- if include "atrium.hasAuthorities" . }}
        - name: authorities
          mountPath: /etc/atrium-authorities
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if not .Values.embedded.enabled }}
    - name: data
      emptyDir:
        sizeLimit: 1Gi
    {{- end }}
    {{- if include "atrium.secretKeys" . | fromJsonArray }}
    - name: secrets
      projected:
        defaultMode: 0440
        sources:
          {{- if .Values.secrets.values }}
          - secret:
              name: {{ include "atrium.fullname" . }}
          {{- end }}
          {{- if .Values.secrets.existing.keys }}
          - secret:
              name: {{ .Values.secrets.existing.name }}
              items:
                {{- range .Values.secrets.existing.keys }}
                - key: {{ . }}
                  path: {{ . }}
                {{- end }}
          {{- end }}
    {{- end }}
    {{- if .Values.models }}
    - name: models
      configMap:
        name: {{ include "atrium.fullname" . }}
    {{- end }}
    {{- if include "atrium.hasAuthorities" . }}
    - name: authorities
      configMap:
        name: {{ .Values.tls.caConfigMap | default (printf "%s-authorities" (include "atrium.fullname" .)) }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "atrium.selectorLabels" . | nindent 10 }}
{{- end -}}
