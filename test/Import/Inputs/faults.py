"""faults.py CONFIG FOLDER: writes copies of a config, each with faults of one kind, and a program that names some."""
import json
import os
import sys

source, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)


def write(name, change):
    with open(source, encoding="utf-8") as file:
        config = json.load(file)
    change(config)
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2, sort_keys=True)


def unknown(config):
    config["use_parallel_residual"] = True
    config["rope_scaling"]["slope"] = 1


def missing(config):
    del config["hidden_size"], config["rope_scaling"]["factor"]


write("no-architecture", lambda config: config.pop("architectures"))
write("architecture", lambda config: config.update(architectures=["LlamaForCausalLn"]))
write("unknown", unknown)
write("structure", lambda config: config.update(
    mlp_bias=True, hidden_act="gelu", attention_dropout=0.1, pretraining_tp=2, head_dim=96,
    quantization_config={"quant_method": "gptq", "bits": 4}))
write("rope", lambda config: config["rope_scaling"].update(rope_type="dynamic"))
write("missing", missing)
write("kind", lambda config: config.update(num_hidden_layers=32.5, num_key_value_heads="8", rope_theta=-1, rms_norm_eps=None,
                                           tie_word_embeddings="yes"))
with open(os.path.join(folder, "no-json.json"), "w", encoding="utf-8") as file:
    file.write('{ "architectures": ["LlamaForCausalLM"], }')
with open(os.path.join(folder, "deep.json"), "w", encoding="utf-8") as file:
    file.write("[" * 3000000)
with open(os.path.join(folder, "run.stg"), "w", encoding="utf-8") as file:
    file.write('stg 1\nworkload a {\n  model hf("nowhere.json")\n}\nworkload b {\n  model hf(B = 8)\n}\n'
               'workload c {\n  model hf("unknown.json", B = 8)\n}\n')
