"""Trains a Hugging Face model by a compiled step inside transformers.Trainer, which keeps its data loader, schedule,
logs and callbacks (docs/in-process.md).

    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate)
    step = hone.compile(model, loss, (input_ids, labels), optimizer, clip=arguments.max_grad_norm)
    HoneTrainer(model, arguments, train_dataset=data, step=step).train()
"""

from __future__ import annotations

import torch
import transformers


def loss(model, input_ids, labels):
    return model(input_ids=input_ids, labels=labels).loss


class HoneTrainer(transformers.Trainer):
    """A Trainer whose steps are those of `step`. The optimizer that it makes itself holds the schedule only: without
    gradients it changes nothing. Batches are all of one size (dataloader_drop_last=True)."""

    def __init__(self, *arguments, step, **more):
        super().__init__(*arguments, **more)
        self.step = step

    def training_step(self, model, inputs, num_items_in_batch=None):
        self.step.lr = max(group["lr"] for group in self.optimizer.param_groups)
        return torch.tensor(self.step(**{name: inputs[name] for name in self.step.inputs}).loss)

    def evaluate(self, *arguments, **more):
        self.step.copy_to(self.model)
        return super().evaluate(*arguments, **more)

    def save_model(self, *arguments, **more):
        self.step.copy_to(self.model)
        return super().save_model(*arguments, **more)
