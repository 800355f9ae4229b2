"""Reads the document of the API at the address that is given, as a strict validator does."""
import json
import sys
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator

document = json.load(urllib.request.urlopen(f"{sys.argv[1]}/openapi.json", timeout=60))
faults = [f"{'/'.join(map(str, fault.path))}: {fault.message}" for fault in OpenAPIV31SpecValidator(document).iter_errors()]
print("\n".join(faults) or f"{len(document['paths'])} paths, no fault")
sys.exit(1 if faults else 0)
