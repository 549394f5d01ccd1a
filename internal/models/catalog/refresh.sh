#!/bin/sh
# Brings models.json up to date with the models that the Anthropic API lists. Prices and
# what the list does not say stay as they are: look them up for models that are new.
# Needs curl, go and ANTHROPIC_API_KEY. Run it in this folder.
set -eu
curl -fsS 'https://api.anthropic.com/v1/models?limit=1000' \
  -H "x-api-key: $ANTHROPIC_API_KEY" -H 'anthropic-version: 2023-06-01' |
  go run ./refresh models.json
go test . -run TestPreparedModels -update
