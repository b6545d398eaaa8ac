"""vary.py CONFIG FIELD=JSON...: the config with other values; `text_config.field` is a field of an inner object."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    config = json.load(file)
for change in sys.argv[2:]:
    path, _, value = change.partition("=")
    *folders, field = path.split(".")
    place = config
    for folder in folders:
        place = place[folder]
    place[field] = json.loads(value)
json.dump(config, sys.stdout, indent=2)
