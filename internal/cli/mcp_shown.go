package cli

// withheld stands in the place of a secret.
const withheld = "***"
