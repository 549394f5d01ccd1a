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
