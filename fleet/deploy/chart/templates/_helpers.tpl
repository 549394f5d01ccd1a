{{- define "haft.name" -}}
{{ .Release.Name }}
{{- end }}

{{- define "haft.pod" -}}
securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, runAsNonRoot: true, seccompProfile: { type: RuntimeDefault } }
automountServiceAccountToken: false
{{- end }}

{{- define "haft.container" -}}
securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
{{- end }}

{{- /* Where workers and clients connect. */ -}}
{{- define "haft.url" -}}
{{- if .Values.cluster.enabled -}}
tls://{{ include "haft.name" . }}-nats:4222
{{- else -}}
tls://{{ include "haft.name" . }}-server:4222
{{- end -}}
{{- end }}

{{- /* The template of a worker's pod. */ -}}
{{- define "haft.worker" -}}
metadata: { labels: { app: {{ include "haft.name" . }}-worker } }
spec:
  {{- include "haft.pod" . | nindent 2 }}
  terminationGracePeriodSeconds: {{ .Values.worker.grace }}
  {{- if .Values.isolated.enabled }}
  restartPolicy: Never
  {{- end }}
  containers:
    - name: worker
      image: {{ .Values.image }}
      args:
        {{- toYaml (concat (list "worker" "--join" (include "haft.url" .) "--tls-ca" "/tls/ca.crt" "--key" (ternary "/keys/worker.nk" "/keys/worker.creds" .Values.cluster.enabled) "--dir" "/runs/sessions" "--workspaces" "/runs/workspaces" "--drain" .Values.worker.drain "--status" "127.0.0.1:4282") (ternary (list "--one-run") (list "--slots" (toString .Values.worker.slots)) .Values.isolated.enabled) .Values.worker.flags) | nindent 8 }}
      {{- include "haft.container" . | nindent 6 }}
      envFrom: [{ secretRef: { name: {{ .Values.modelSecret }} } }]
      readinessProbe: { exec: { command: [haft-fleet, check, "http://127.0.0.1:4282/readyz"] }, periodSeconds: 10, timeoutSeconds: 6 }
      livenessProbe: { exec: { command: [haft-fleet, check, "http://127.0.0.1:4282/livez"] }, periodSeconds: 30, timeoutSeconds: 6 }
      resources: {{- toYaml .Values.worker.resources | nindent 8 }}
      volumeMounts:
        - { name: tls, mountPath: /tls, readOnly: true }
        - { name: key, mountPath: /keys, readOnly: true }
        - { name: work, mountPath: /runs }
  volumes:
    - { name: tls, secret: { secretName: {{ .Values.tlsSecret }}, items: [{ key: ca.crt, path: ca.crt }] } }
    - { name: key, secret: { secretName: {{ .Values.workerKeySecret }} } }
    - { name: work, emptyDir: {} }
{{- end }}
