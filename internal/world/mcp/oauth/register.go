package oauth

// A registration is how an authorization server knows this client.
type registration struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret,omitempty"`
	// Method is how the client proves itself at the token endpoint.
	Method string `json:"token_endpoint_auth_method,omitempty"`
	// Redirect is where the client said that browsers come back to; "" if that was
	// settled elsewhere.
	Redirect string `json:"redirect_uri,omitempty"`
}

// Methods of proving to be a client at the token endpoint.
const (
	proveNone  = "none"
	proveBasic = "client_secret_basic"
	provePost  = "client_secret_post"
	proveJWT   = "private_key_jwt"
)
